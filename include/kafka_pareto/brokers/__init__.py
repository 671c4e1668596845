"""Brokers of one's own: Kafka nodes on loopback, as a supervisor runs them or as children of this process."""
