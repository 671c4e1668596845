"""Make the figures of the documentation and of the benchmarks, each by one command."""
