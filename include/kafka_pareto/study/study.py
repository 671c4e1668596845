"""Defines the study: what is varied, how it is measured, and what is wanted of it. One model validates every study."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Annotated, Any, Literal, Self

from pydantic import Field, JsonValue, field_validator, model_validator

from kafka_pareto.kafka.producer_config import (
    CHOICES,
    DEFAULTS,
    Durability,
    PropertyValue,
    durability_of,
    is_idempotent,
    resolved,
    typed_value,
    unknown_property_rule,
)
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.constraints import (
    RECORD_SIZE,
    Constraint,
    Constraints,
    ForbiddenRegions,
    Rule,
    Variables,
    narrowed,
    satisfies,
)
from kafka_pareto.study.driver import Driver
from kafka_pareto.study.factors import CategoricalFactor, Configuration, Factor, FactorValue, configuration_id
from kafka_pareto.study.identifiers import MOST_RECORD_SIZE_BYTES, STUDY_NAME
from kafka_pareto.study.objectives import Limits, ObjectiveName
from kafka_pareto.study.producer import PRODUCER
from kafka_pareto.study.protocol import Protocol
from kafka_pareto.study.retune import Retune
from kafka_pareto.study.section import Section
from kafka_pareto.study.sections import Confirmation, Design, ForeignCluster, Rounds, Search, Surrogate, Validation
from kafka_pareto.study.warm_start import WarmStart
from kafka_pareto.study.workload import Workload


class Study(Section):
    """Defines a study. See `include/studies/` for those that are ready to use.

    `objectives`, where given, must name all four: each is modelled, searched and reported in every study. `constraints`
    and `forbidden` regions bind the configurations, `limits` bind the measured values; the baseline is exempt.
    `strategy: one_shot` measures the design alone before the search, as in the paper. `rounds` then measures more where
    the surrogates promise most, and may begin with what earlier campaigns have learned (`warm_start`).
    """

    schema_version: Literal[1]
    name: Annotated[str, Field(pattern=f"^{STUDY_NAME}$")]
    description: str
    seed: Annotated[int, Field(ge=0)] = 42
    record_sizes_bytes: Annotated[list[Annotated[int, Field(ge=1, le=MOST_RECORD_SIZE_BYTES)]], Field(min_length=1)]
    factors: Annotated[dict[str, Factor], Field(min_length=1)]
    constraints: Constraints = Field(default_factory=list)
    forbidden: ForbiddenRegions = Field(default_factory=list)
    limits: Limits = Field(default_factory=list)
    baseline: dict[str, PropertyValue] = Field(default_factory=dict)
    durability: Durability | None = None
    objectives: list[ObjectiveName] = Field(default_factory=lambda: list(PRODUCER.objective_names))
    design: Design
    strategy: Literal["one_shot", "rounds"] = "one_shot"
    rounds: Rounds = Rounds()
    warm_start: WarmStart | None = None
    workload: Workload = Workload()
    protocol: Protocol
    validation: Validation = Validation()
    surrogate: Surrogate = Surrogate()
    search: Search = Search()
    confirmation: Confirmation
    retune: Retune = Retune()
    cluster: ForeignCluster | None = None

    @field_validator("durability", mode="before")
    @classmethod
    def _durability_by_name(cls, given: Any) -> Any:
        if given is None or isinstance(given, Durability):
            return given
        if not isinstance(given, str) or given not in Durability.__members__:
            raise ValueError(f"must be one of {', '.join(Durability.__members__)}")
        return Durability[given]

    @field_validator("factors")
    @classmethod
    def _factors_are_producer_properties(cls, factors: dict[str, Factor]) -> dict[str, Factor]:
        for name, factor in factors.items():
            if name not in DEFAULTS:
                raise ValueError(f"{name} {unknown_property_rule(name)}")
            needed = "categorical" if isinstance(DEFAULTS[name], (str, bool)) else "integer"
            if factor.type != needed:
                raise ValueError(f"{name} must be of type {needed}")
            for level in factor.levels or []:
                if name in CHOICES and level not in CHOICES[name]:
                    raise ValueError(f"{name}: level {level!r} must be one of {', '.join(CHOICES[name])}")
        return factors

    @field_validator("baseline")
    @classmethod
    def _baseline_is_producer_properties(cls, baseline: dict[str, PropertyValue]) -> dict[str, PropertyValue]:
        for name in baseline:
            if name not in DEFAULTS:
                raise ValueError(f"{name} {unknown_property_rule(name)}")
        return {name: typed_value(name, str(value).lower()) for name, value in baseline.items()}

    @field_validator("objectives")
    @classmethod
    def _four_objectives(cls, objectives: list[ObjectiveName]) -> list[ObjectiveName]:
        if sorted(objectives) != sorted(PRODUCER.objective_names):
            raise ValueError(f"must name each of {', '.join(PRODUCER.objective_names)} once")
        return objectives

    @field_validator("record_sizes_bytes")
    @classmethod
    def _record_sizes_are_unique(cls, sizes: list[int]) -> list[int]:
        if len(set(sizes)) != len(sizes):
            raise ValueError("lists a record size twice")
        return sizes

    @model_validator(mode="after")
    def _keys_need_the_generator(self) -> Self:
        if self.workload.keys and self.protocol.load_tool != "load_generator":
            raise ValueError("workload.keys needs protocol.load_tool load_generator; Kafka's own sends no keys")
        return self

    @field_validator("limits")
    @classmethod
    def _one_limit_per_objective(cls, limits: Limits) -> Limits:
        bounded = [limit.objective for limit in limits]
        if len(set(bounded)) != len(bounded):
            raise ValueError("bounds an objective twice")
        return limits

    @model_validator(mode="after")
    def _rounds_belong_to_their_strategy(self) -> Self:
        if self.strategy != "rounds" and "rounds" in self.model_fields_set and self.rounds != Rounds():
            raise ValueError("rounds needs strategy: rounds; one_shot has none after its design")
        if self.strategy != "rounds" and self.warm_start is not None:
            raise ValueError("warm_start needs strategy: rounds; one_shot learns from its own design alone")
        return self

    @model_validator(mode="after")
    def _repetitions_give_cvs(self) -> Self:
        protocol = self.protocol
        within_run = protocol.variability == "within_run"
        if self.strategy == "one_shot" and not within_run and protocol.repetitions < protocol.minimum_valid_repetitions:
            raise ValueError(
                f"protocol.minimum_valid_repetitions {protocol.minimum_valid_repetitions} must not exceed repetitions "
                f"{protocol.repetitions}; no trial would ever have a CV, which only strategy: rounds can do without"
            )
        return self

    @model_validator(mode="after")
    def _constraints_leave_something(self) -> Self:
        for rule in self.rules():
            rule.check(self.factors)
        for case in self.cases:
            if not _is_feasible(self.factors, self.constraints, self.variables(case)):
                rules = ", ".join(map(str, self.constraints))
                raise ValueError(f"constraints: no configuration satisfies {rules} at {case_label(case)}")
        return self

    @property
    def declaration(self) -> Driver:
        """Returns what the study's driver declares."""
        return PRODUCER

    @property
    def objective_names(self) -> tuple[str, ...]:
        """Lists the objectives in their driver's order."""
        return self.declaration.objective_names

    @property
    def means(self) -> tuple[str, ...]:
        """Lists the objectives that are means."""
        return self.declaration.means

    @property
    def cases(self) -> list[str]:
        """Lists the cases, one for each mapped task, in order: here the record sizes."""
        return [str(size) for size in self.record_sizes_bytes]

    def case_overrides(self, cases: Sequence[str]) -> dict[str, JsonValue]:
        """Returns the parameter of the study's DAG that limits a campaign to these cases."""
        return {"record_sizes": [self.record_size_bytes(case) for case in cases]}

    def record_size_bytes(self, case: str) -> int:
        """Returns the record size of a case."""
        return int(case)

    def variables(self, case: str) -> dict[str, FactorValue]:
        """Returns the values, in this case, that constraints may name in addition to the factors."""
        return {RECORD_SIZE: self.record_size_bytes(case)}

    def rules(self) -> list[Rule]:
        """Lists every rule that a candidate must keep: the constraints, then the forbidden regions."""
        return [*self.constraints, *self.forbidden]

    def round_numbers(self) -> range:
        """Returns the rounds that a campaign may have: 0, which measures the design, and those after it."""
        return range(1 + (self.rounds.maximum if self.strategy == "rounds" else 0))

    def baseline_configuration(self) -> Configuration:
        """Returns the baseline's value for each factor; Kafka's default where the study's baseline names none."""
        merged = resolved(self.baseline)
        return {
            name: str(merged[name]).lower() if isinstance(factor, CategoricalFactor) else merged[name]
            for name, factor in self.factors.items()
        }

    def baseline_id(self) -> str:
        """Returns the baseline's configuration id."""
        return configuration_id(self.baseline_configuration())

    def producer_properties(self, configuration: Configuration) -> dict[str, PropertyValue]:
        """Returns the producer's settings: the configuration's values, and the baseline's for all other properties.

        Idempotence is set to its resolved value. A baseline that asks for it would otherwise make `acks=1` an error.
        """
        properties = {**self.baseline, **configuration}
        return {**properties, "enable.idempotence": is_idempotent(properties)}

    def durability_of(self, configuration: Configuration) -> Durability:
        """Returns the durability that a producer with this configuration promises."""
        return durability_of({**self.baseline, **configuration})

    def may_be_recommended(self, configuration: Configuration, case: str) -> bool:
        """Tells whether the configuration keeps every rule and promises the durability that the study accepts."""
        accepted = self.durability_of(configuration) >= self.weakest_durability()
        return accepted and self.keeps_rules(configuration, case)

    def keeps_rules(self, configuration: Configuration, case: str) -> bool:
        """Tells whether the configuration keeps every constraint and lies in no forbidden region."""
        return satisfies(self.rules(), configuration, self.variables(case))

    def drift_fraction(self) -> float:
        """Returns the smallest change of a ratio to the baseline that is drift."""
        return self.retune.drift_fraction or self.confirmation.wanted_effect_fraction

    def weakest_durability(self) -> Durability:
        """Returns the weakest durability that may be recommended: the study's own, else the baseline's."""
        return self.durability_of(self.baseline_configuration()) if self.durability is None else self.durability


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
