"""Holds what several drivers use: a cluster and its guard, processes that load it, and what they answer."""
