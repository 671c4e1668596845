"""The study: what is varied, how it is measured, and what is wanted of it. One model validates every study."""

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
    ForbiddenRegion,
    Rule,
    Variables,
    narrowed,
    satisfies,
)
from kafka_pareto.study.driver import Driver
from kafka_pareto.study.factors import CategoricalFactor, Configuration, Factor, FactorValue, configuration_id
from kafka_pareto.study.identifiers import CLUSTER_NAME, MOST_RECORD_SIZE_BYTES, MOST_ROUNDS, STUDY_NAME
from kafka_pareto.study.objectives import Limit, ObjectiveName
from kafka_pareto.study.preferences import ChooseBy
from kafka_pareto.study.producer import PRODUCER
from kafka_pareto.study.protocol import Protocol
from kafka_pareto.study.retune import Retune
from kafka_pareto.study.section import Count, Fraction, Section
from kafka_pareto.study.warm_start import WarmStart
from kafka_pareto.study.workload import Workload


class Design(Section):
    """Which configurations are measured at each record size; `feasible` keeps them within the constraints.

    `latin_hypercube` draws `configurations` of them, all factors at once. `one_at_a_time` takes the baseline and
    changes one factor after the other: to each of its levels, or to `levels_per_range` values of a range.
    """

    method: Literal["latin_hypercube", "one_at_a_time"] = "latin_hypercube"
    configurations: Count | None = None
    levels_per_range: Annotated[int, Field(ge=2)] = 4
    feasible: bool = True

    @model_validator(mode="after")
    def _sized_by_its_method(self) -> Self:
        if (self.method == "latin_hypercube") != (self.configurations is not None):
            raise ValueError("latin_hypercube needs configurations; one_at_a_time takes none, the levels make them")
        return self


class Rounds(Section):
    """What `strategy: rounds` measures after the design of round 0.

    Up to `maximum` rounds, each of `configurations` more at every record size, proposed by the surrogates. A record
    size is done with once its measured hypervolume rose by less than `least_rise_fraction` in two rounds together.
    """

    maximum: Annotated[int, Field(ge=1, le=MOST_ROUNDS)] = MOST_ROUNDS
    configurations: Count = 8
    least_rise_fraction: Fraction = 0.01


class Validation(Section):
    """The gate: the campaign stops when more than this share of the repetitions is set aside."""

    tolerated_rejected_fraction: Fraction = 0.05


class Surrogate(Section):
    """The XGBoost regressors, one per objective, and how they are judged.

    `records_per_batch` gives them `batch.size` over the record size as one more input. `weights` says how much a trial
    counts: as many times as it has `repetitions`, or all `equal`.
    """

    n_estimators: Count = 300
    max_depth: Count = 5
    learning_rate: Annotated[float, Field(gt=0)] = 0.05
    subsample: Annotated[float, Field(gt=0, le=1)] = 0.5
    colsample_bytree: Annotated[float, Field(gt=0, le=1)] = 1.0
    reg_lambda: Annotated[float, Field(ge=0)] = 3.0
    loss: Literal["reg:squarederror"] = "reg:squarederror"
    categories: Literal["codes", "native"] = "native"
    records_per_batch: bool = True
    log_target: bool = True
    weights: Literal["equal", "repetitions"] = "repetitions"
    held_out_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.25


class Search(Section):
    """NSGA-III over the surrogates."""

    reference_partitions: Count = 6
    population: Annotated[int, Field(ge=4)] = 92
    generations: Count = 80
    crossover_probability: Fraction = 0.9
    crossover_eta: Annotated[float, Field(gt=0)] = 15.0
    mutation_probability: Fraction = 0.2
    mutation_eta: Annotated[float, Field(gt=0)] = 20.0
    init: Literal["design", "random"] = "design"


class Confirmation(Section):
    """How many points of each front are measured again: some blocks to choose by, then fresh ones to state gains from.

    `minimum_blocks` is the evidence below which the baseline stays, whatever the few numbers say. `choose_by` picks
    among the measured points that keep the study's limits: `balanced_gain` by the product of the gains in throughput
    and p95 latency, `r1` (the paper's) by the ratio of throughput to its CV, or an order or weights of objectives.
    `wanted_effect_fraction` is the smallest change that matters to the user: the noise report says how many blocks it
    takes to find one.
    """

    points: Count
    choice_blocks: Count
    gain_blocks: Annotated[int, Field(ge=2)]
    minimum_blocks: Annotated[int, Field(ge=2)] = 10
    choose_by: ChooseBy = "balanced_gain"
    wanted_effect_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.10

    def most_repetitions(self) -> int:
        """The baseline and every point in the choice blocks, then the baseline and one point in the gain blocks."""
        return (self.points + 1) * self.choice_blocks + 2 * self.gain_blocks


class ForeignCluster(Section):
    """An existing cluster, reached with a `client.properties` that the installation keeps under a name.

    One with a `name` is tuned apart from all others: by a DAG, in a pool and on a queue of Airflow's that bear it.
    """

    name: Annotated[str, Field(pattern=f"^{CLUSTER_NAME}$")] | None = None
    bootstrap_servers: str
    client_config: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")] | None = None
    ceiling_mib_s: Annotated[float, Field(gt=0)]
    ceiling_gib: Annotated[float, Field(gt=0)]
    consent: bool = False


class Study(Section):
    """A study. See `include/studies/` for those that are ready to use.

    `objectives`, where given, must name all four: each is modelled, searched and reported in every study.
    `constraints` and `forbidden` regions bind the configurations, `limits` what they measure; the baseline is exempt.
    `strategy: one_shot` measures the design alone before the search, as in the paper; `rounds` goes on where the
    surrogates promise most, and may begin with what earlier campaigns have learned (`warm_start`).
    """

    schema_version: Literal[1]
    name: Annotated[str, Field(pattern=f"^{STUDY_NAME}$")]
    description: str
    seed: Annotated[int, Field(ge=0)] = 42
    record_sizes_bytes: Annotated[list[Annotated[int, Field(ge=1, le=MOST_RECORD_SIZE_BYTES)]], Field(min_length=1)]
    factors: Annotated[dict[str, Factor], Field(min_length=1)]
    constraints: list[str] = Field(default_factory=list)
    forbidden: list[str] = Field(default_factory=list)
    limits: list[str] = Field(default_factory=list)
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
    def _limits_are_readable(cls, limits: list[str]) -> list[str]:
        bounded = [Limit.parse(text).objective for text in limits]
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
        constraints = self.parsed_constraints()
        for constraint in constraints:
            constraint.check(self.factors)
        for text in self.forbidden:
            ForbiddenRegion.parse(text).check(self.factors)
        for case in self.cases:
            if not _is_feasible(self.factors, constraints, self.variables(case)):
                rules = ", ".join(self.constraints)
                raise ValueError(f"constraints: no configuration satisfies {rules} at {case_label(case)}")
        return self

    @property
    def declaration(self) -> Driver:
        """What the study's driver declares."""
        return PRODUCER

    @property
    def objective_names(self) -> tuple[str, ...]:
        """The objectives in their driver's order."""
        return self.declaration.objective_names

    @property
    def means(self) -> tuple[str, ...]:
        """Those of the objectives that are means."""
        return self.declaration.means

    @property
    def cases(self) -> list[str]:
        """What the measuring tasks are mapped over, in order: here the record sizes."""
        return [str(size) for size in self.record_sizes_bytes]

    def case_overrides(self, cases: Sequence[str]) -> dict[str, JsonValue]:
        """The parameter of the study's DAG that limits a campaign to these cases."""
        return {"record_sizes": [self.record_size_bytes(case) for case in cases]}

    def record_size_bytes(self, case: str) -> int:
        """The record size of a case."""
        return int(case)

    def variables(self, case: str) -> dict[str, FactorValue]:
        """What constraints may name beside the factors, with its value in the case."""
        return {RECORD_SIZE: self.record_size_bytes(case)}

    def parsed_constraints(self) -> list[Constraint]:
        """The constraints, ready to be asked."""
        return [Constraint.parse(text) for text in self.constraints]

    def rules(self) -> list[Rule]:
        """Every rule that a configuration must keep to be a candidate: the constraints, then the forbidden regions."""
        return [*self.parsed_constraints(), *(ForbiddenRegion.parse(text) for text in self.forbidden)]

    def parsed_limits(self) -> list[Limit]:
        """The limits, ready to be asked."""
        return [Limit.parse(text) for text in self.limits]

    def round_numbers(self) -> range:
        """The rounds that a campaign may have: 0, which measures the design, and those after it."""
        return range(1 + (self.rounds.maximum if self.strategy == "rounds" else 0))

    def baseline_configuration(self) -> Configuration:
        """The baseline's value for each factor (Kafka's default where the study's baseline is silent)."""
        merged = resolved(self.baseline)
        return {
            name: str(merged[name]).lower() if isinstance(factor, CategoricalFactor) else merged[name]
            for name, factor in self.factors.items()
        }

    def baseline_id(self) -> str:
        """The baseline's configuration id."""
        return configuration_id(self.baseline_configuration())

    def producer_properties(self, configuration: Configuration) -> dict[str, PropertyValue]:
        """What the producer is told for this configuration: the baseline's other settings, and the factors' values.

        Idempotence is stated as it resolves: a baseline that asks for it would make `acks=1` an error otherwise.
        """
        properties = {**self.baseline, **configuration}
        return {**properties, "enable.idempotence": is_idempotent(properties)}

    def durability_of(self, configuration: Configuration) -> Durability:
        """The durability that a producer with this configuration promises."""
        return durability_of({**self.baseline, **configuration})

    def may_be_recommended(self, configuration: Configuration, case: str) -> bool:
        """Whether the configuration keeps every rule and promises the durability that the study accepts."""
        accepted = self.durability_of(configuration) >= self.weakest_durability()
        return accepted and self.keeps_rules(configuration, case)

    def keeps_rules(self, configuration: Configuration, case: str) -> bool:
        """Whether the configuration keeps every constraint and lies in no forbidden region."""
        return satisfies(self.rules(), configuration, self.variables(case))

    def drift_fraction(self) -> float:
        """The smallest change of a ratio to the baseline that is drift."""
        return self.retune.drift_fraction or self.confirmation.wanted_effect_fraction

    def weakest_durability(self) -> Durability:
        """The weakest durability that may be recommended: as stated, else the baseline's own."""
        return self.durability_of(self.baseline_configuration()) if self.durability is None else self.durability


def _is_feasible(factors: dict[str, Factor], constraints: list[Constraint], variables: Variables) -> bool:
    """Whether any configuration satisfies the constraints: of one factor exactly, between two at their extremes."""
    try:
        remaining = narrowed(factors, constraints, variables)
    except ValueError:
        return False
    between = [constraint for constraint in constraints if len(set(constraint.factors_in(factors))) == 2]
    bound = sorted({name for constraint in between for name in constraint.factors_in(factors)})
    corners = product(*(remaining[name].extremes() for name in bound))
    return any(satisfies(between, dict(zip(bound, corner, strict=True)), variables) for corner in corners)
