"""The driver `librdkafka`: the producer's load, sent by librdkafka and in its own settings."""
