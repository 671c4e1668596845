"""The programs of the stack and their settings."""
