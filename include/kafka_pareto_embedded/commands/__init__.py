"""Run the commands behind make's targets."""
