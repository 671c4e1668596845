"""Checks whether the settings in force are still as good as when they were confirmed."""
