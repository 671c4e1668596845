"""The embedded stack: its parts, folders and credentials."""
