"""Run the driver `consumer`."""
