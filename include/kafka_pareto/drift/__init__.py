"""Check whether the active settings are still as good as when they were confirmed."""
