"""A driver beside the library's own, for tests alone: agents serve callers at a time of day."""
