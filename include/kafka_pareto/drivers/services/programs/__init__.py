"""Five small services that process orders through Kafka, and a client that follows the events; each is a process."""
