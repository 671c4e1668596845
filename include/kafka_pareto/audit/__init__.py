"""Describe the traffic of a cluster's topics, and what other producer settings would make of it. Reads only."""
