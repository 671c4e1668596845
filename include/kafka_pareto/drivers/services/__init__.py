"""The driver `services`."""
