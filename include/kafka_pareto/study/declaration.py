"""Defines what a driver declares: its objectives, and what models learn from besides the factors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kafka_pareto.errors import did_you_mean
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.kafka.properties_file import properties_lines
from kafka_pareto.study.factors import Column
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
        """Return the label, without the unit."""
        return self.quantity.label

    @property
    def unit(self) -> str:
        """Return the unit as people read it; empty for a share."""
        return self.quantity.unit

    @property
    def maximised(self) -> bool:
        """Return whether more is better."""
        return bool(self.quantity.maximised)

    @property
    def axis_label(self) -> str:
        """Return the label with its unit."""
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


def _properties(settings: Mapping[str, PropertyValue]) -> str:
    return properties_lines({name: settings[name] for name in sorted(settings)})


@dataclass(frozen=True)
class ClientFile:
    """Describes a file that the clients of a driver read.

    Attributes:
        name: What it is called.
        text: Writes the settings that `Tune.properties` returns, as the file has them.
    """

    name: str
    text: Callable[[Mapping[str, PropertyValue]], str] = _properties


@dataclass(frozen=True)
class OverTime:
    """Names what a driver's timelines hold, as figures over time show it.

    Attributes:
        begins_with: The first of what is sent, as in `order`.
        done: What came to its end in each second, as in `orders confirmed`.
        waiting: The series of what had not come to its end; the others that are no stages passed some point.
        passes: Series of a pace, one pass after another, each with the title of its axes.
    """

    begins_with: str = "record"
    done: str = "done"
    waiting: str = ""
    passes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Driver:
    """Declares what is loaded and measured.

    Attributes:
        name: As studies name it.
        quantities: What a repetition holds, in the order of the tables' columns.
        objectives: In the order of tables and pages.
        expectations: The file of what the driver adds to the suites of `campaign/expectations.yaml`.
        identity: The facts of a fingerprint that tell one system from another; within a campaign they must stay.
        counted: The facts that are lists, of which two campaigns must have equally many.
        case_features: The numbers that a case gives. Without any, a case is a category to the models.
        derived_features: What follows from a configuration and its case, and is hard for a model to find out alone.
        case_words: What a case is, as people say it, and the plural.
        derived_quantities: What comparisons compute of a repetition's values and show beside them.
        stages: Quantities that add up to a whole, in the order in which time passes.
        over_time: What its timelines hold, where it has any.
        settings_word: What a configuration sets, as people say it.
        settings_file: What the file with the settings is called.
        client_files: What is written of the settings in force.
        states_durability: Whether cards and files state the name of a durability. A producer's follows from defaults
            that no table shows; where each setting that it follows from is shown, there is nothing to add.
    """

    name: str
    quantities: tuple[Quantity, ...]
    objectives: tuple[Objective, ...]
    expectations: Path
    identity: tuple[str, ...]
    counted: tuple[str, ...] = ()
    case_features: tuple[Feature, ...] = ()
    derived_features: tuple[Feature, ...] = ()
    case_words: tuple[str, str] = ("case", "cases")
    derived_quantities: tuple[Quantity, ...] = ()
    stages: tuple[str, ...] = ()
    over_time: OverTime = OverTime()
    settings_word: str = "settings"
    settings_file: str = "settings.properties"
    client_files: tuple[ClientFile, ...] = (ClientFile("settings.properties"),)
    states_durability: bool = False

    def __post_init__(self) -> None:
        """Reject a declaration that pages could not show."""
        for each in self.objectives:
            if each.quantity.maximised is None:
                raise ValueError(f"{each.name}: its quantity {each.quantity.name} says neither label nor direction")
        if len(self.objectives) == 1:
            raise ValueError(f"{self.name}: declares one objective, and pages set two against each other")
        if not self.identity:
            raise ValueError(f"{self.name}: names no fact by which its system is known again")

    def cases_text(self, number: int) -> str:
        """Return a number of cases in the driver's words."""
        return f"{number:,} {self.case_words[number != 1]}"

    @property
    def shown_quantities(self) -> tuple[Quantity, ...]:
        """List the quantities that have a label, those that are derived last."""
        return tuple(each for each in (*self.quantities, *self.derived_quantities) if each.label)

    @property
    def stage_quantities(self) -> tuple[Quantity, ...]:
        """List the quantities that add up to a whole."""
        by_name = {each.name: each for each in self.quantities}
        return tuple(by_name[name] for name in self.stages)

    def has(self, quantity: str) -> bool:
        """Return whether repetitions hold this quantity."""
        return any(each.name == quantity for each in self.quantities)

    def with_missing(self, values: Values) -> dict[str, Value]:
        """Return the values of a repetition as they are declared, with None for what is missing and may be."""
        known = [each.name for each in self.quantities if each.may_be_missing or each.name in values]
        return {name: values.get(name) for name in known} | dict(values)

    def fault_of(self, values: Values) -> str:
        """Name the first of a repetition's values that breaks the declaration, and the rule; empty if none does."""
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
        """List the names of the objectives."""
        return tuple(each.name for each in self.objectives)

    @cached_property
    def means(self) -> tuple[str, ...]:
        """List the objectives that are means. They judge first: a repetition measures a mean well, a spread hardly."""
        return tuple(each.name for each in self.objectives if not each.spread_of)

    @cached_property
    def plane(self) -> tuple[str, str]:
        """Return the two objectives that a page sets against each other, across and upwards.

        They are the first mean of which more is better and the first of which less is; else the first two objectives.
        """
        means = [each for each in self.objectives if not each.spread_of]
        more = [each.name for each in means if each.maximised]
        less = [each.name for each in means if not each.maximised]
        return (more[0], less[0]) if more and less else (self.objective_names[0], self.objective_names[1])

    @cached_property
    def steadiness(self) -> tuple[str, str] | None:
        """Return a mean of which more is better and its spread, whose ratio is the paper's R1; None without such."""
        spreads = [each for each in self.objectives if each.spread_of]
        names = [(each.spread_of, each.name) for each in spreads if self._objective(each.spread_of).maximised]
        return names[0] if names else None

    def _objective(self, name: str) -> Objective:
        return next(each for each in self.objectives if each.name == name)
