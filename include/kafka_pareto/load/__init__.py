"""Runs load tools: processes that send records, and the readers of what they print."""
