"""The driver `ingestion`, and sending a user's own file the same way."""
