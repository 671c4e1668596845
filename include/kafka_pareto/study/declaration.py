"""Defines what a driver declares: its objectives, and what models learn from besides the factors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from kafka_pareto.study.factors import Column


@dataclass(frozen=True)
class Objective:
    """Describes a quantity that a study may optimise.

    Attributes:
        name: With its unit, as in `p95_latency_ms`.
        label: As people read it, without the unit.
        unit: As people read it; empty for a share.
        maximised: True where more is better.
        quantity: For a mean, the repetition's quantity that is averaged. For a spread, the quantity that holds the
            spread within a single run.
        spread_of: For a spread, the mean whose coefficient of variation across repetitions this is; empty for a mean.
    """

    name: str
    label: str
    unit: str
    maximised: bool
    quantity: str
    spread_of: str = ""

    @property
    def axis_label(self) -> str:
        """Returns the label with its unit."""
        return f"{self.label} [{self.unit}]" if self.unit else self.label


@dataclass(frozen=True)
class Feature:
    """Describes a number that models learn from besides the factors.

    Attributes:
        name: With its unit; stored encodings name it.
        label: As figures show it.
        columns: What it is computed from: factors, or `case`.
        values: Computes it from those columns, one value for each row.
    """

    name: str
    label: str
    columns: tuple[str, ...]
    values: Callable[[Mapping[str, Column]], Column]


@dataclass(frozen=True)
class Driver:
    """Declares what is loaded and measured.

    Attributes:
        name: As studies name it.
        objectives: In the order of tables and pages.
        identity: By which facts of a fingerprint the measured system is known to be the same one.
        case_features: The numbers that a case gives. Without any, a case is a category to the models.
        derived_features: What follows from a configuration and its case, and is hard for a model to find out alone.
    """

    name: str
    objectives: tuple[Objective, ...]
    identity: tuple[str, ...]
    case_features: tuple[Feature, ...] = ()
    derived_features: tuple[Feature, ...] = ()

    @cached_property
    def objective_names(self) -> tuple[str, ...]:
        """Lists the names of the objectives."""
        return tuple(each.name for each in self.objectives)

    @cached_property
    def means(self) -> tuple[str, ...]:
        """Lists the objectives that are means. They judge first: a repetition measures a mean well, a spread hardly."""
        return tuple(each.name for each in self.objectives if not each.spread_of)
