"""The embedded stack's parts, folders and credentials."""
