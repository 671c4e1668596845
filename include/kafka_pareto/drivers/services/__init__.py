"""Run the driver `services`."""
