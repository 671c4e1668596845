"""Define the programs of the stack and their settings."""
