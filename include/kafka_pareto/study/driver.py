"""Drivers: what is loaded, and what is measured of it. A study names one; the rails ask it and know none by name.

Objectives of all drivers share one vocabulary: a name, unit included, means the same wherever it stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from kafka_pareto.errors import BadInputError


@dataclass(frozen=True)
class Objective:
    """What a study may want of a configuration.

    Attributes:
        name: With its unit, as in `p95_latency_ms`.
        label: As people read it, without the unit.
        unit: As people read it; empty for a share.
        maximised: Whether more is better.
        quantity: Of a mean, the repetition's quantity that is averaged; of a spread, the one that holds the spread
            within a single run.
        spread_of: The mean of whose repetitions this is the coefficient of variation; empty for a mean.
    """

    name: str
    label: str
    unit: str
    maximised: bool
    quantity: str
    spread_of: str = ""

    @property
    def axis_label(self) -> str:
        """The label with its unit."""
        return f"{self.label} [{self.unit}]" if self.unit else self.label


@dataclass(frozen=True)
class Driver:
    """What is loaded and measured; `objectives` in the order in which tables and pages have them."""

    name: str
    objectives: tuple[Objective, ...]

    @cached_property
    def objective_names(self) -> tuple[str, ...]:
        """The names of the objectives."""
        return tuple(each.name for each in self.objectives)

    @cached_property
    def means(self) -> tuple[str, ...]:
        """What every configuration is judged by first: a repetition measures a mean well, and a spread hardly."""
        return tuple(each.name for each in self.objectives if not each.spread_of)


_DRIVERS: dict[str, Driver] = {}


def register(driver: Driver) -> Driver:
    """Makes the driver known, in place of one of the same name."""
    _DRIVERS[driver.name] = driver
    return driver


def driver_named(name: str) -> Driver:
    """Finds a driver.

    Raises:
        BadInputError: If there is none of that name.
    """
    if name not in _DRIVERS:
        raise BadInputError(f"driver: {name!r}: there is no such driver; there are {', '.join(sorted(_DRIVERS))}")
    return _DRIVERS[name]


def objective_named(name: str) -> Objective:
    """Finds an objective of any driver.

    Raises:
        BadInputError: If no driver has it.
    """
    for driver in _DRIVERS.values():
        for each in driver.objectives:
            if each.name == name:
                return each
    raise BadInputError(f"{name!r} is no objective of any driver")


def label_of(name: str) -> str:
    """The label of an objective."""
    return objective_named(name).label


def is_maximised(name: str) -> bool:
    """Whether more of an objective is better."""
    return objective_named(name).maximised


def all_objectives() -> list[Objective]:
    """Every objective that any driver has, each once."""
    return list({each.name: each for driver in _DRIVERS.values() for each in driver.objectives}.values())
