"""Runs the driver `ingestion`."""
