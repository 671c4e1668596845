"""The declarations of all drivers, which share one vocabulary of objectives and features, units included."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from kafka_pareto.errors import BadInputError
from kafka_pareto.study.declaration import Driver, Feature, Objective

_FOLDER = "kafka_pareto.drivers"


def driver_names() -> tuple[str, ...]:
    """List the drivers in the order of pages and messages."""
    names: tuple[str, ...] = import_module(f"{_FOLDER}.driver_list").NAMES
    return names


def driver_module(driver: str, module: str) -> ModuleType:
    """Import a module of a driver's folder, by name because drivers import the core."""
    return import_module(f"{_FOLDER}.{driver}.{module}")


def driver_answer(driver: str) -> Callable[..., list[str]] | None:
    """Return what words the answer of the driver's comparisons; None for a driver without a module for it."""
    if find_spec(f"{_FOLDER}.{driver}.answer") is None:
        return None
    words: Callable[..., list[str]] = driver_module(driver, "answer").answer_lines
    return words


@cache
def drivers() -> dict[str, Driver]:
    """Return every driver's declaration by name."""
    return {name: driver_module(name, "declaration").DRIVER for name in driver_names()}


def objective_named(name: str) -> Objective:
    """Return any driver's objective of this name."""
    for driver in drivers().values():
        for each in driver.all_objectives:
            if each.name == name:
                return each
    raise BadInputError(f"{name!r} is not an objective of any driver")


def label_of(name: str) -> str:
    """Return the label of an objective."""
    return objective_named(name).label


def is_maximised(name: str) -> bool:
    """Return whether more of an objective is better."""
    return objective_named(name).maximised


def feature_named(name: str) -> Feature | None:
    """Return any driver's feature of this name; None if there is none, as for a factor."""
    declared = (each for driver in drivers().values() for each in (*driver.case_features, *driver.derived_features))
    return next((each for each in declared if each.name == name), None)


def all_objectives() -> list[Objective]:
    """List the distinct objectives of all drivers."""
    return list({each.name: each for driver in drivers().values() for each in driver.all_objectives}.values())
