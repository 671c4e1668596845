"""The command `kafka-pareto`, which `make` calls too."""
