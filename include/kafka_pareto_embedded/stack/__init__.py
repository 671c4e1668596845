"""Describes the embedded stack: its parts, folders and credentials."""
