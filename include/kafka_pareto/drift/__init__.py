"""Checks of what is in force: whether it is still as good as when it was confirmed."""
