"""Covers Kafka as this project uses it: producer and client properties, clusters, topics and end offsets."""
