"""What earlier campaigns have measured, and whether it compares with today."""
