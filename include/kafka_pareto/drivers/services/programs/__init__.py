"""Five small services that pass orders on through Kafka, and the client that watches them; each is a process."""
