"""Runs the driver `consumer`."""
