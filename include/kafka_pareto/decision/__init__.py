"""Which configurations are confirmed, which one is the pick, and the decision about it."""
