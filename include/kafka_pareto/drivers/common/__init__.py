"""Shared by several drivers: cluster access, its guard, and load processes with their output."""
