"""Declaration of a driver: objectives, model features, and how pages show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from kafka_pareto.errors import did_you_mean
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.kafka.properties_file import properties_lines
from kafka_pareto.study.factors import Column
from kafka_pareto.study.quantity import Quantity, Value, Values


@dataclass(frozen=True)
class Objective:
    """A quantity that a study may optimise; `name` includes the unit, as in `p95_latency_ms`.

    `quantity` is a mean's, or that of the spread within a run; `spread_of` is the mean whose CV a spread is.
    """

    name: str
    quantity: Quantity
    spread_of: str = ""

    @property
    def label(self) -> str:
        """Return the label without unit."""
        return self.quantity.label

    @property
    def unit(self) -> str:
        """Return the readable unit; empty for a share."""
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
    """A derived model input: `values` computes one value per row from its `columns` (factors, or `case`)."""

    name: str
    label: str
    columns: tuple[str, ...]
    values: Callable[[Mapping[str, Column]], Column]


def _properties(settings: Mapping[str, PropertyValue]) -> str:
    return properties_lines({name: settings[name] for name in sorted(settings)})


@dataclass(frozen=True)
class ClientFile:
    """A file that a driver's clients read; `text` formats the settings of `Tune.properties`."""

    name: str
    text: Callable[[Mapping[str, PropertyValue]], str] = _properties


@dataclass(frozen=True)
class OverTime:
    """Labels of a driver's timelines: the first item sent, what is completed, the series of uncompleted items.

    `passes` are series of a pace, one pass after another, each with its axis titles.
    """

    begins_with: str = "record"
    done: str = "done"
    waiting: str = ""
    passes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Driver:
    """A system under load, as studies name it, and what is measured of it.

    Attributes:
        expectations: File of additions to the suites in `campaign/expectations.yaml`.
        more_objectives: Objectives, all of them means, of which a study may add one to those that every study has.
        identity: Fingerprint facts that identify a system; constant within a campaign.
        defaults: The settings' defaults, as far as they are known.
        counted: List facts whose lengths must agree between comparable campaigns.
        case_features: A case's numbers; without any, models treat the case as a category.
        derived_features: Functions of configuration and case that are hard to learn.
        case_words: A case in words: singular and plural.
        derived_quantities: Computed from a repetition's values for display in comparisons.
        stages: Quantities that add up to a whole, in time order.
        states_durability: Whether cards and files name the durability, because it follows from defaults not shown
            there.
    """

    name: str
    quantities: tuple[Quantity, ...]
    objectives: tuple[Objective, ...]
    expectations: Path
    identity: tuple[str, ...]
    defaults: Mapping[str, PropertyValue] = field(default_factory=dict, hash=False)
    counted: tuple[str, ...] = ()
    case_features: tuple[Feature, ...] = ()
    derived_features: tuple[Feature, ...] = ()
    case_words: tuple[str, str] = ("case", "cases")
    derived_quantities: tuple[Quantity, ...] = ()
    more_objectives: tuple[Objective, ...] = ()
    stages: tuple[str, ...] = ()
    over_time: OverTime = OverTime()
    defaults_word: str = "Kafka's defaults"
    settings_word: str = "settings"
    settings_file: str = "settings.properties"
    client_files: tuple[ClientFile, ...] = (ClientFile("settings.properties"),)
    states_durability: bool = False

    def __post_init__(self) -> None:
        for each in self.all_objectives:
            if each.quantity.maximised is None:
                raise ValueError(f"{each.name}: its quantity {each.quantity.name} has neither label nor direction")
        if len(self.objectives) == 1:
            raise ValueError(f"{self.name}: declares one objective, but pages plot two against each other")
        if not self.identity:
            raise ValueError(f"{self.name}: names no fact that identifies its system")

    @property
    def all_objectives(self) -> tuple[Objective, ...]:
        """List the objectives that every study has, then those that it may add."""
        return (*self.objectives, *self.more_objectives)

    def cases_text(self, number: int) -> str:
        """Return a number of cases in the driver's words."""
        return f"{number:,} {self.case_words[number != 1]}"

    @property
    def shown_quantities(self) -> tuple[Quantity, ...]:
        """List the labelled quantities, derived ones last."""
        return tuple(each for each in (*self.quantities, *self.derived_quantities) if each.label)

    @property
    def stage_quantities(self) -> tuple[Quantity, ...]:
        """List the quantities that add up to a whole."""
        by_name = {each.name: each for each in self.quantities}
        return tuple(by_name[name] for name in self.stages)

    def has(self, quantity: str) -> bool:
        """Return whether repetitions have this quantity."""
        return any(each.name == quantity for each in self.quantities)

    def with_missing(self, values: Values) -> dict[str, Value]:
        """Return a repetition's values as declared; missing optional ones are None."""
        known = [each.name for each in self.quantities if each.may_be_missing or each.name in values]
        return {name: values.get(name) for name in known} | dict(values)

    def fault_of(self, values: Values) -> str:
        """Return the first value that breaks the declaration, and the rule; empty if none does."""
        names = [each.name for each in self.quantities]
        for name in values:
            if name not in names:
                return f"{name}: is not a quantity of the driver {self.name}{did_you_mean(name, names)}"
        for each in self.quantities:
            if each.name not in values:
                return f"{each.name}: is missing, though it is a quantity of the driver {self.name}"
            if not each.takes(values[each.name]):
                return f"{each.name}: {values[each.name]!r}: must be of type {each.type.__name__}"
        return ""

    @cached_property
    def objective_names(self) -> tuple[str, ...]:
        """List the names of the objectives that every study has."""
        return tuple(each.name for each in self.objectives)

    @cached_property
    def means(self) -> tuple[str, ...]:
        """List the objectives that are means; they decide first, as one repetition hardly measures a spread."""
        return tuple(each.name for each in self.objectives if not each.spread_of)

    @cached_property
    def plane(self) -> tuple[str, str]:
        """Return a page's x and y axes: the first maximised and first minimised mean, else the first two objectives."""
        means = [each for each in self.objectives if not each.spread_of]
        more = [each.name for each in means if each.maximised]
        less = [each.name for each in means if not each.maximised]
        return (more[0], less[0]) if more and less else (self.objective_names[0], self.objective_names[1])

    @cached_property
    def steadiness(self) -> tuple[str, str] | None:
        """Return a mean of which more is better and its spread, whose ratio is the paper's R1; None without such."""
        more = [each.name for each in self.objectives if each.maximised]
        return next(((each.spread_of, each.name) for each in self.objectives if each.spread_of in more), None)
