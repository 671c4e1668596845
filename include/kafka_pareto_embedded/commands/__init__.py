"""The commands behind make's targets."""
