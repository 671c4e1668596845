"""The driver `producer`: records sent to a topic by Kafka's load tool or the project's generator."""
