"""Select configurations to confirm, choose the pick, and decide on it."""
