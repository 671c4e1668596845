"""Load generator: sends a shop's requests, as people would, at a given rate."""
