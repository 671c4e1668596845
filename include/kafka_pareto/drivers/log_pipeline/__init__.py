"""Starts and ends the parts of a log pipeline, and runs its repetitions."""
