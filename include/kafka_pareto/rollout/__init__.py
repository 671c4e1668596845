"""Keeps the settings in force: versions, approvals, and the files that producers read."""
