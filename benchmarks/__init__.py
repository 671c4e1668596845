"""Compute the figures of the documentation and of the benchmarks, one command each."""
