"""Run Kafka brokers on loopback, under a supervisor or as children of this process."""
