"""Kafka as this project sees it: producer properties, client properties, brokers, topics and end offsets."""
