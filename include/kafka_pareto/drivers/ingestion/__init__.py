"""Runs the driver `ingestion`, and sends files of users' own in the way that it measures."""
