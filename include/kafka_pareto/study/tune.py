"""Studies that search configurations and confirm the best."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.known_properties import Durability, PropertyValue
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
from kafka_pareto.study.declaration import Feature
from kafka_pareto.study.declarations import objective_named
from kafka_pareto.study.factors import Configuration, Factor
from kafka_pareto.study.gate import Gate
from kafka_pareto.study.objectives import Limits, ObjectiveName, objectives_named
from kafka_pareto.study.retune import Retune
from kafka_pareto.study.sections import Confirmation, Design, Rounds, Search, Surrogate
from kafka_pareto.study.study import Study
from kafka_pareto.study.warm_start import WarmStart

_USUAL_OBJECTIVES = 4
_PARTITIONS_FOR_MORE = 4  # 70 directions for five objectives; the default would give 210, for a population of 92


class Tune(Study):
    """Adds the search: factors, objectives, design, learning and confirmation.

    `constraints` and `forbidden` apply to configurations, `limits` to measured values; the baseline is exempt.
    `objectives` must name all those that the driver's studies have, and may add one of its others. `strategy:
    one_shot`, the paper's, measures only the design before the search; `rounds` then measures where the surrogates
    expect the largest gain. `advice` adds configurations from guides and vendors (`include/advice`) to the design, and
    measures the best of them alongside the pick.
    """

    promises: ClassVar[frozenset[str]] = frozenset()
    """Settings that determine durability; advice on them is ignored."""

    factors: Annotated[dict[str, Factor], Field(min_length=1)]
    constraints: Constraints = Field(default_factory=list)
    forbidden: ForbiddenRegions = Field(default_factory=list)
    limits: Limits = Field(default_factory=list)
    baseline: dict[str, PropertyValue] = Field(default_factory=dict)
    objectives: list[ObjectiveName]
    design: Design
    strategy: Literal["one_shot", "rounds"] = "one_shot"
    rounds: Rounds = Rounds()
    warm_start: WarmStart | None = None
    advice: bool = False
    surrogate: Surrogate = Surrogate()
    search: Annotated[Search, Field(validate_default=True)] = Search()
    confirmation: Confirmation
    retune: Retune = Retune()
    gate: Gate = Gate()

    @field_validator("objectives")
    @classmethod
    def _each_objective_of_the_driver(cls, objectives: list[ObjectiveName]) -> list[ObjectiveName]:
        needed, more = cls.declaration.objective_names, [each.name for each in cls.declaration.more_objectives]
        added = [name for name in objectives if name not in needed]
        if sorted(objectives) != sorted([*needed, *added]) or len(added) > 1 or not set(added) <= set(more):
            may = f", and may add one of {', '.join(more)}" if more else ""
            raise ValueError(f"must name each of {', '.join(needed)} once{may}")
        return objectives

    @field_validator("search")
    @classmethod
    def _not_more_directions_than_members(cls, search: Search, info: ValidationInfo) -> Search:
        if (
            len(info.data.get("objectives", ())) <= _USUAL_OBJECTIVES
            or "reference_partitions" in search.model_fields_set
        ):
            return search
        return search.model_copy(update={"reference_partitions": _PARTITIONS_FOR_MORE})

    @field_validator("baseline")
    @classmethod
    def _baseline_is_settings(cls, baseline: dict[str, PropertyValue]) -> dict[str, PropertyValue]:
        return {name: cls.setting_value(name, value) for name, value in baseline.items()}

    @classmethod
    def setting_value(cls, name: str, given: PropertyValue) -> PropertyValue:  # noqa: ARG003 (for drivers that know their settings)
        """Return a value as configurations hold it; raises ValueError if there is no such setting or value."""
        return given

    @field_validator("limits")
    @classmethod
    def _one_limit_per_objective(cls, limits: Limits) -> Limits:
        bounded = [limit.objective for limit in limits]
        if len(set(bounded)) != len(bounded):
            raise ValueError("bounds an objective twice")
        return limits

    def require_own_objectives(self, key: str, named: Iterable[str]) -> None:
        """Reject what is not an objective of this study."""
        for name in named:
            if name in self.objective_names:
                continue
            if name in [each.name for each in self.declaration.more_objectives]:
                raise ValueError(f"{key}: {name} is not an objective of this study; add it to objectives")
            raise ValueError(
                f"{key}: {name} is not an objective of the driver {self.declaration.name}; its objectives are "
                f"{', '.join(each.name for each in self.declaration.all_objectives)}"
            )

    @property
    def objective_names(self) -> tuple[str, ...]:
        """List the study's objectives in the driver's order, those that are means first."""
        own = [each for each in self.declaration.all_objectives if each.name in self.objectives]
        return tuple(each.name for each in sorted(own, key=lambda each: bool(each.spread_of)))

    @property
    def means(self) -> tuple[str, ...]:
        """List the study's objectives that are means."""
        return tuple(name for name in self.objective_names if not objective_named(name).spread_of)

    @model_validator(mode="after")
    def _constraints_leave_something(self) -> Self:
        for rule in self.rules():
            rule.check(self.factors, list(self.variables(self.cases[0])))
        for case in self.cases:
            if not _is_feasible(self.factors, self.constraints, self.variables(case)):
                rules = ", ".join(map(str, self.constraints))
                raise ValueError(f"constraints: no configuration satisfies {rules} at {case_label(case)}")
        return self

    @model_validator(mode="after")
    def _rounds_and_advice_fit_their_design(self) -> Self:
        if self.strategy != "rounds" and "rounds" in self.model_fields_set and self.rounds != Rounds():
            raise ValueError("rounds needs strategy: rounds; one_shot has none after its design")
        if self.strategy != "rounds" and self.warm_start is not None:
            raise ValueError("warm_start needs strategy: rounds; one_shot learns from its own design alone")
        if self.advice and self.design.method != "latin_hypercube":
            raise ValueError("advice needs design.method: latin_hypercube; else the levels make the design")
        if self.confirmation.compare_advice == "always" and not self.advice:
            raise ValueError("confirmation.compare_advice always needs advice: true; else there is none")
        return self

    @model_validator(mode="after")
    def _can_choose(self) -> Self:
        self.require_own_objectives("limits", (limit.objective for limit in self.limits))
        self.require_own_objectives("confirmation.choose_by", objectives_named(self.confirmation.choose_by))
        if self.confirmation.choose_by == "r1" and self.declaration.steadiness is None:
            raise ValueError("confirmation.choose_by r1 needs a mean of which more is better, with its CV")
        protocol = self.protocol
        across = protocol.variability == "across_repetitions"
        if self.strategy == "one_shot" and across and protocol.repetitions < protocol.minimum_valid_repetitions:
            raise ValueError(
                f"protocol.minimum_valid_repetitions {protocol.minimum_valid_repetitions} must not exceed repetitions "
                f"{protocol.repetitions}; no trial would ever have a CV, which only strategy: rounds can do without"
            )
        return self

    @model_validator(mode="after")
    def _gate_can_be_decided(self) -> Self:
        self.require_own_objectives("gate.conditions", (each.objective for each in self.gate.conditions))
        for each in self.gate.conditions:
            is_cv = objective_named(each.objective).spread_of and self.protocol.variability == "across_repetitions"
            if is_cv and not each.of_reference:
                raise ValueError(
                    f"gate.conditions: {each}: a CV across repetitions can only be compared with the reference's"
                )
        return self

    @property
    def varied_factors(self) -> dict[str, Factor]:
        """Map the study file's factors by name."""
        return self.factors

    def variables(self, case: str) -> Variables:  # noqa: ARG002 (for drivers whose cases have any)
        """Return the case's values that constraints may name in addition to the factors."""
        return {}

    def all_settings(self, configuration: Configuration) -> Mapping[str, PropertyValue]:
        """Return every known setting with its value, including a driver's defaults."""
        return self.properties(configuration)

    def properties(self, configuration: Configuration) -> dict[str, PropertyValue]:
        """Return what is set: the configuration's values, and the baseline's for all other properties."""
        return {**self.baseline, **configuration}

    def is_baseline(self, properties: Mapping[str, PropertyValue]) -> bool:
        """Return whether these settings are the baseline's, whatever defaults are spelled out."""
        return dict(properties) == self.properties(self.baseline_configuration())

    def weakest_durability(self) -> Durability:
        """Return the weakest accepted durability: the baseline's."""
        return self.durability_of(self.baseline_configuration())

    def rules(self) -> list[Rule]:
        """List all rules for candidates: the constraints, then the forbidden regions."""
        return [*self.constraints, *self.forbidden]

    def keeps_rules(self, configuration: Configuration, case: str) -> bool:
        """Return whether the configuration satisfies all constraints and is outside all forbidden regions."""
        return satisfies(self.rules(), configuration, self.variables(case))

    def round_numbers(self) -> range:
        """Return the possible rounds of a campaign: 0, which measures the design, and those after it."""
        return range(1 + (self.rounds.maximum if self.strategy == "rounds" else 0))

    def may_be_recommended(self, configuration: Configuration, case: str) -> bool:
        """Return whether the configuration keeps all rules and an accepted durability."""
        accepted = self.durability_of(configuration) >= self.weakest_durability()
        return accepted and self.keeps_rules(configuration, case)

    def derived_features(self) -> list[Feature]:
        """List the driver's derived model inputs that depend on this study's factors or its cases."""
        given = {*self.factors, "case"}
        return [each for each in self.declaration.derived_features if given.issuperset(each.columns)]

    def drift_fraction(self) -> float:
        """Return the smallest change of a ratio to the baseline that counts as drift."""
        return self.retune.drift_fraction or self.confirmation.wanted_effect_fraction


def tune_study(study: Study) -> Tune:
    """Return the study as one that tunes; reject any other."""
    if not isinstance(study, Tune):
        raise BadInputError(f"study {study.name}: kind: {study.kind!r}: must be tune here")
    return study


def _is_feasible(factors: dict[str, Factor], constraints: list[Constraint], variables: Variables) -> bool:
    """Return whether every constraint can be satisfied; the design finds out whether all can together."""
    try:
        remaining = narrowed(factors, constraints, variables)
    except ValueError:
        return False
    between = [constraint for constraint in constraints if len(set(constraint.factors_in(factors))) == 2]
    return all(_is_possible(constraint, remaining, variables) for constraint in between)


def _is_possible(constraint: Constraint, factors: dict[str, Factor], variables: Variables) -> bool:
    """Return whether some pair of levels or range ends satisfies it; for `==`, whether the ranges overlap."""
    corners = [
        {constraint.left: left, constraint.right: right}
        for left in factors[constraint.left].extremes()
        for right in factors[constraint.right].extremes()
    ]
    operators = ("<=", ">=") if constraint.operator == "==" else (constraint.operator,)
    return all(
        any(constraint.model_copy(update={"operator": each}).holds(corner, variables) for corner in corners)
        for each in operators
    )
