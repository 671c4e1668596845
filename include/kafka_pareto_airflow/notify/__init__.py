"""Send notices to people."""
