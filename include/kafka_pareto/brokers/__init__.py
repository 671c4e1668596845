"""Run Kafka brokers of one's own on loopback: under a supervisor, or as children of this process."""
