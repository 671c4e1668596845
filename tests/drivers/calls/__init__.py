"""A driver for tests only: agents serve callers at a time of day."""
