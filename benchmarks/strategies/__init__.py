"""List every strategy that the search benchmark compares, by name."""

from __future__ import annotations

from importlib import import_module

from benchmarks.strategies.table import Strategy

STRATEGIES = {
    "rounds": "benchmarks.strategies.own:rounds",
    "rounds_of_four": "benchmarks.strategies.own:rounds_of_four",
    "one_shot": "benchmarks.strategies.own:one_shot",
    "random": "benchmarks.strategies.plain:random_search",
    "latin_hypercube": "benchmarks.strategies.plain:latin_hypercube_alone",
    "optuna_nsga3": "benchmarks.strategies.optuna_samplers:optuna_nsga3",
    "optuna_tpe": "benchmarks.strategies.optuna_samplers:optuna_tpe",
    "botorch_nehvi": "benchmarks.strategies.botorch_nehvi:botorch_nehvi",
}
PEERS = ("optuna_nsga3", "optuna_tpe", "botorch_nehvi")
"""Those that need packages which the project itself does not (`benchmarks/requirements.txt`)."""


def strategy(name: str) -> Strategy:
    """Return a strategy, which it loads.

    Raises:
        ModuleNotFoundError: If it is a peer whose packages are not installed.
    """
    module, function = STRATEGIES[name].split(":")
    loaded: Strategy = getattr(import_module(module), function)
    return loaded
