"""Make the figures of the documentation and of `benchmarks/README.md`, each by one command."""
