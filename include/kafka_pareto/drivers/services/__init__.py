"""Runs the driver `services`."""
