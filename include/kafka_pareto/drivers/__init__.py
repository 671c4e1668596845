"""Drivers: how repetitions of each kind of load are run."""
