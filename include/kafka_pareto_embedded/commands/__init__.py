"""Runs the commands behind make's targets."""
