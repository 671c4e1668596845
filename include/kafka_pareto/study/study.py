"""Defines what every study has, whatever it asks and of which system: its kind and its driver add the rest."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, JsonValue, field_validator, model_validator

from kafka_pareto.kafka.producer_config import Durability, PropertyValue
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.constraints import (
    Constraint,
    Constraints,
    ForbiddenRegions,
    Rule,
    Variables,
    narrowed,
    satisfies,
)
from kafka_pareto.study.declaration import Driver
from kafka_pareto.study.factors import Configuration, Factor, configuration_id
from kafka_pareto.study.identifiers import STUDY_NAME
from kafka_pareto.study.objectives import Limits, ObjectiveName
from kafka_pareto.study.protocol import Protocol
from kafka_pareto.study.quantity import Values
from kafka_pareto.study.section import Section
from kafka_pareto.study.sections import ForeignCluster, Validation


class Study(Section):
    """Defines a study. See `include/studies/` for those that are ready to use.

    `kind` says what is asked, `driver` of what: each adds keys of its own. `objectives`, where given, must name all of
    the driver's: each is reported in every study. `constraints` and `forbidden` regions bind the configurations,
    `limits` bind the measured values; the baseline is exempt.
    """

    declaration: ClassVar[Driver]

    schema_version: Literal[1]
    kind: str = "tune"
    driver: str = "producer"
    name: Annotated[str, Field(pattern=f"^{STUDY_NAME}$")]
    description: str
    seed: Annotated[int, Field(ge=0)] = 42
    factors: Annotated[dict[str, Factor], Field(min_length=1)]
    constraints: Constraints = Field(default_factory=list)
    forbidden: ForbiddenRegions = Field(default_factory=list)
    limits: Limits = Field(default_factory=list)
    baseline: dict[str, PropertyValue] = Field(default_factory=dict)
    objectives: list[ObjectiveName]
    protocol: Protocol
    validation: Validation = Validation()
    cluster: ForeignCluster | None = None

    @field_validator("objectives")
    @classmethod
    def _each_objective_of_the_driver(cls, objectives: list[ObjectiveName]) -> list[ObjectiveName]:
        names = cls.declaration.objective_names
        if sorted(objectives) != sorted(names):
            raise ValueError(f"must name each of {', '.join(names)} once")
        return objectives

    @field_validator("limits")
    @classmethod
    def _one_limit_per_objective(cls, limits: Limits) -> Limits:
        bounded = [limit.objective for limit in limits]
        if len(set(bounded)) != len(bounded):
            raise ValueError("bounds an objective twice")
        cls.require_own_objectives(bounded)
        return limits

    @classmethod
    def require_own_objectives(cls, named: Iterable[str]) -> None:
        """Refuses an objective that another driver has.

        Raises:
            ValueError: Naming it and those that there are.
        """
        own = cls.declaration.objective_names
        if others := [name for name in named if name not in own]:
            raise ValueError(
                f"{others[0]} is no objective of the driver {cls.declaration.name}; there are {', '.join(own)}"
            )

    @model_validator(mode="after")
    def _constraints_leave_something(self) -> Self:
        for rule in self.rules():
            rule.check(self.factors, list(self.variables(self.cases[0])))
        for case in self.cases:
            if not _is_feasible(self.factors, self.constraints, self.variables(case)):
                rules = ", ".join(map(str, self.constraints))
                raise ValueError(f"constraints: no configuration satisfies {rules} at {case_label(case)}")
        return self

    @property
    def objective_names(self) -> tuple[str, ...]:
        """Lists the objectives in their driver's order."""
        return self.declaration.objective_names

    @property
    def means(self) -> tuple[str, ...]:
        """Lists the objectives that are means."""
        return self.declaration.means

    @property
    @abstractmethod
    def cases(self) -> list[str]:
        """Lists the cases, one for each mapped task, in order; there is at least one."""

    @abstractmethod
    def keys_of_cases(self, cases: Sequence[str]) -> dict[str, JsonValue]:
        """Returns the keys of a study's file that name these cases, and no others."""

    @abstractmethod
    def case_overrides(self, cases: Sequence[str]) -> dict[str, JsonValue]:
        """Returns the parameter of the study's DAG that limits a campaign to these cases."""

    @abstractmethod
    def baseline_configuration(self) -> Configuration:
        """Returns the baseline's value for each factor; the system's default where the study's baseline names none."""

    @abstractmethod
    def conditions(self) -> dict[str, Any]:
        """Returns what a repetition's outcome depends on, besides configuration, case and cluster, by its key.

        Repetitions of two studies can be compared where these are equal.
        """

    @abstractmethod
    def durability_of(self, configuration: Configuration) -> Durability:
        """Returns the durability that is promised with this configuration; always the same where it has no part."""

    def weakest_durability(self) -> Durability:
        """Returns the weakest durability that is accepted: the baseline's."""
        return self.durability_of(self.baseline_configuration())

    def variables(self, case: str) -> Variables:  # noqa: ARG002 (for drivers whose cases have any)
        """Returns the values, in this case, that constraints may name in addition to the factors."""
        return {}

    def properties(self, configuration: Configuration) -> dict[str, PropertyValue]:
        """Returns what is set: the configuration's values, and the baseline's for all other properties."""
        return {**self.baseline, **configuration}

    def rule_parameters(self) -> dict[str, object]:
        """Returns what the `$…` of the rules of the driver's suite file stand for."""
        return {}

    def derived_values(self, values: Values) -> dict[str, float]:  # noqa: ARG002 (for drivers whose rules need any)
        """Returns what follows from a repetition's values, for rules that compare two of them.

        Args:
            values: The repetition's row: its head and its quantities.
        """
        return {}

    def text_file(self) -> str | None:
        """Returns the file, beside the study's, whose text its loads are cut from; None where there is none."""
        return None

    def baseline_id(self) -> str:
        """Returns the baseline's configuration id."""
        return configuration_id(self.baseline_configuration())

    def round_numbers(self) -> range:
        """Returns the rounds that a campaign may have: 0 alone, which measures the design."""
        return range(1)

    def rules(self) -> list[Rule]:
        """Lists every rule that a candidate must keep: the constraints, then the forbidden regions."""
        return [*self.constraints, *self.forbidden]

    def keeps_rules(self, configuration: Configuration, case: str) -> bool:
        """Tells whether the configuration keeps every constraint and lies in no forbidden region."""
        return satisfies(self.rules(), configuration, self.variables(case))


def _is_feasible(factors: dict[str, Factor], constraints: list[Constraint], variables: Variables) -> bool:
    """Tells whether any configuration satisfies the constraints.

    Constraints on one factor are checked exactly, constraints between two at the factors' extremes.
    """
    try:
        remaining = narrowed(factors, constraints, variables)
    except ValueError:
        return False
    between = [constraint for constraint in constraints if len(set(constraint.factors_in(factors))) == 2]
    bound = sorted({name for constraint in between for name in constraint.factors_in(factors)})
    corners = product(*(remaining[name].extremes() for name in bound))
    return any(satisfies(between, dict(zip(bound, corner, strict=True)), variables) for corner in corners)
