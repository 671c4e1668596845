"""Runs the driver `log_pipeline`."""
