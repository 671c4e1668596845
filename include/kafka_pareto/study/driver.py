"""Drivers: what is loaded and measured. A driver declares quantities and objectives; there is one, `producer`.

A study cannot name another yet: `Study.declaration` returns it. Objectives of all drivers share one vocabulary: a
name, unit included, means the same wherever it stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from kafka_pareto.errors import BadInputError, did_you_mean
from kafka_pareto.study.quantity import Quantity, Value, Values


@dataclass(frozen=True)
class Objective:
    """Describes a quantity that a study may optimise.

    Attributes:
        name: With its unit, as in `p95_latency_ms`.
        quantity: For a mean, the repetition's quantity that is averaged. For a spread, the quantity that holds the
            spread within a single run.
        spread_of: For a spread, the mean whose coefficient of variation across repetitions this is; empty for a mean.
    """

    name: str
    quantity: Quantity
    spread_of: str = ""

    @property
    def label(self) -> str:
        """Returns the label, without the unit."""
        return self.quantity.label

    @property
    def unit(self) -> str:
        """Returns the unit as people read it; empty for a share."""
        return self.quantity.unit

    @property
    def maximised(self) -> bool:
        """Tells whether more is better."""
        return bool(self.quantity.maximised)

    @property
    def axis_label(self) -> str:
        """Returns the label with its unit."""
        return f"{self.label} [{self.unit}]" if self.unit else self.label


@dataclass(frozen=True)
class Driver:
    """Declares what is loaded and measured.

    Attributes:
        name: As in `producer`.
        quantities: What a repetition holds, in the order of tables.
        objectives: What a study may optimise, in the order of tables and pages.
        suite_file: Holds what the driver adds to the gate's suites, in `include/expectations/`.
    """

    name: str
    quantities: tuple[Quantity, ...]
    objectives: tuple[Objective, ...]
    suite_file: str

    def with_missing(self, values: Values) -> dict[str, Value]:
        """Returns the values of a repetition, with None for every quantity that is missing and may be."""
        return {each.name: None for each in self.quantities if each.may_be_missing} | dict(values)

    def fault_of(self, values: Values) -> str:
        """Names the first of a repetition's values that breaks the declaration, and the rule; empty if none does."""
        names = [each.name for each in self.quantities]
        for name in values:
            if name not in names:
                return f"{name}: is no quantity of the driver {self.name}{did_you_mean(name, names)}"
        for each in self.quantities:
            if each.name not in values:
                return f"{each.name}: is missing, though it is a quantity of the driver {self.name}"
            if not each.takes(values[each.name]):
                return f"{each.name}: {values[each.name]!r}: must be of type {each.type.__name__}"
        return ""

    @cached_property
    def objective_names(self) -> tuple[str, ...]:
        """Lists the names of the objectives."""
        return tuple(each.name for each in self.objectives)

    @cached_property
    def means(self) -> tuple[str, ...]:
        """Lists the objectives that are means. They judge first: a repetition measures a mean well, a spread hardly."""
        return tuple(each.name for each in self.objectives if not each.spread_of)


_DRIVERS: dict[str, Driver] = {}


def register(driver: Driver) -> Driver:
    """Registers the driver; one of the same name is replaced."""
    _DRIVERS[driver.name] = driver
    return driver


def objective_named(name: str) -> Objective:
    """Returns the objective of this name, of any driver.

    Raises:
        BadInputError: If no driver has it.
    """
    for driver in _DRIVERS.values():
        for each in driver.objectives:
            if each.name == name:
                return each
    raise BadInputError(f"{name!r} is no objective of any driver")


def label_of(name: str) -> str:
    """Returns the label of an objective."""
    return objective_named(name).label


def is_maximised(name: str) -> bool:
    """Tells whether more of an objective is better."""
    return objective_named(name).maximised


def all_objectives() -> list[Objective]:
    """Lists every objective that any driver has, each once."""
    return list({each.name: each for driver in _DRIVERS.values() for each in driver.objectives}.values())
