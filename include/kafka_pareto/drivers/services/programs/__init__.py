"""Holds five small services that hand orders on through Kafka, and the client that watches them; each is a process."""
