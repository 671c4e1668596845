"""The one list of drivers, in the order of pages and messages: a new one is a folder here and its name below."""

NAMES = ("producer", "librdkafka", "consumer", "ingestion", "services", "log_pipeline")
