"""Run the driver `ingestion`, and send a user's own file the same way."""
