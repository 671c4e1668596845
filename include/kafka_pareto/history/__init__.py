"""Reads what earlier campaigns have measured, and checks that it compares with today."""
