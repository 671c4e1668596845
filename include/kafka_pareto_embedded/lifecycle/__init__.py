"""Starts, supervises and stops the stack."""
