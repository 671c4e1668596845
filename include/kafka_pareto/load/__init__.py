"""Load tools: processes that send records, and what they print."""
