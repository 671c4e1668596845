"""Sends notices to people."""
