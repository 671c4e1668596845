"""Opens the drivers' folders by the names that `kafka_pareto.drivers` lists.

Objectives and features of all drivers share one vocabulary: a name, unit included, means the same wherever it stands.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType

from kafka_pareto.errors import BadInputError
from kafka_pareto.study.declaration import Driver, Feature, Objective

_FOLDER = "kafka_pareto.drivers"


def driver_names() -> tuple[str, ...]:
    """List the drivers, in the order of pages and messages."""
    names: tuple[str, ...] = import_module(_FOLDER).NAMES
    return names


def door(driver: str, module: str) -> ModuleType:
    """Import a module of a driver's folder. It is imported by name, since drivers import the core."""
    return import_module(f"{_FOLDER}.{driver}.{module}")


@cache
def drivers() -> dict[str, Driver]:
    """Return what every driver declares, by its name."""
    return {name: door(name, "declaration").DRIVER for name in driver_names()}


def objective_named(name: str) -> Objective:
    """Return the objective of this name, of any driver."""
    for driver in drivers().values():
        for each in driver.objectives:
            if each.name == name:
                return each
    raise BadInputError(f"{name!r} is no objective of any driver")


def label_of(name: str) -> str:
    """Return the label of an objective."""
    return objective_named(name).label


def is_maximised(name: str) -> bool:
    """Return whether more of an objective is better."""
    return objective_named(name).maximised


def feature_named(name: str) -> Feature | None:
    """Return the feature of this name, of any driver; None where no driver has it, as for a factor."""
    declared = (each for driver in drivers().values() for each in (*driver.case_features, *driver.derived_features))
    return next((each for each in declared if each.name == name), None)


def all_objectives() -> list[Objective]:
    """List every objective that any driver has, each once."""
    return list({each.name: each for driver in drivers().values() for each in driver.objectives}.values())
