"""The study: what is varied, how it is measured, and what is wanted of it. One model validates every study file."""

from __future__ import annotations

import difflib
import re
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from kafka_pareto.errors import StudyError
from kafka_pareto.factors import (
    RECORD_SIZE,
    CategoricalFactor,
    Configuration,
    Constraint,
    Factor,
    configuration_id,
    narrowed,
    satisfies,
)
from kafka_pareto.producer_properties import (
    CHOICES,
    DEFAULTS,
    Durability,
    PropertyValue,
    durability_of,
    is_idempotent,
    parse_properties,
    resolved,
    typed_value,
    unknown_property_rule,
)

_UNION_TAGS = ("categorical", "integer", "float", "int")
STUDY_NAME = "[a-z0-9][a-z0-9_-]{0,62}"

Objective = Literal["p95_latency_ms", "throughput_mib_s", "latency_cv", "throughput_cv"]
OBJECTIVES: tuple[Objective, ...] = ("p95_latency_ms", "throughput_mib_s", "latency_cv", "throughput_cv")
MAXIMISED: frozenset[Objective] = frozenset({"throughput_mib_s"})

Count = Annotated[int, Field(ge=1)]
Fraction = Annotated[float, Field(ge=0, le=1)]


class Section(BaseModel):
    """A part of a study file: unknown keys and wrong types are refused, values never change after loading."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Design(Section):
    """How many configurations are drawn for each record size; `feasible` keeps them within the constraints."""

    configurations: Count
    feasible: bool = True


class Workload(Section):
    """What is sent, and to which kind of topic."""

    topic_partitions: Count = 3
    replication_factor: Annotated[int, Field(ge=1, le=32767)] = 3
    min_insync_replicas: Count = 2
    payload: Literal["random"] = "random"

    @model_validator(mode="after")
    def _in_sync_within_replicas(self) -> Self:
        if self.min_insync_replicas > self.replication_factor:
            raise ValueError("min_insync_replicas must not exceed replication_factor")
        return self


class Protocol(Section):
    """How one repetition is run and in which order repetitions follow each other.

    `blocks` measures every configuration once, in random order, before any is measured again; `sequential` is the
    paper's: all repetitions of a configuration after each other.
    """

    kind: Literal["cold_burst", "steady"]
    records: Annotated[int, Field(ge=1)] | None = None
    seconds: Annotated[float, Field(gt=0)] | None = None
    warmup_seconds: Annotated[float, Field(ge=0)] = 0.0
    repetitions: Count
    order: Literal["blocks", "sequential"] = "blocks"
    pause_s: Annotated[float, Field(ge=0)] = 0.0
    throughput_limit_mib_s: Annotated[float, Field(gt=0)] | None = None
    timeout_s: Annotated[float, Field(gt=0)] = 120.0
    max_attempts: Count = 3
    minimum_valid_repetitions: Annotated[int, Field(ge=2)] = 2

    @model_validator(mode="after")
    def _sized_one_way(self) -> Self:
        if self.kind == "cold_burst" and (self.records is None or self.seconds is not None or self.warmup_seconds):
            raise ValueError("cold_burst is sized by records alone, without seconds or warmup_seconds")
        if self.kind == "steady" and (self.seconds is None or self.records is not None):
            raise ValueError("steady is sized by seconds, not by records")
        return self


class Validation(Section):
    """The gate: the campaign stops when more than this share of the repetitions is set aside."""

    tolerated_rejected_fraction: Fraction = 0.05


class Surrogate(Section):
    """The XGBoost regressors, one per objective, and how they are judged."""

    n_estimators: Count = 300
    max_depth: Count = 6
    learning_rate: Annotated[float, Field(gt=0)] = 0.05
    subsample: Annotated[float, Field(gt=0, le=1)] = 0.9
    colsample_bytree: Annotated[float, Field(gt=0, le=1)] = 0.9
    reg_lambda: Annotated[float, Field(ge=0)] = 1.0
    loss: Literal["reg:squarederror"] = "reg:squarederror"
    categories: Literal["codes", "native"] = "native"
    log_target: bool = True
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
    among the measured points: `balanced_gain` by the product of the gains in throughput and p95 latency, `r1` (the
    paper's) by the ratio of throughput to its CV.
    """

    points: Count
    choice_blocks: Count
    gain_blocks: Annotated[int, Field(ge=2)]
    minimum_blocks: Annotated[int, Field(ge=2)] = 10
    choose_by: Literal["balanced_gain", "r1"] = "balanced_gain"


class ForeignCluster(Section):
    """An existing cluster, reached with a `client.properties` that the installation keeps under a name."""

    bootstrap_servers: str
    client_config: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")] | None = None
    ceiling_mib_s: Annotated[float, Field(gt=0)]
    ceiling_gib: Annotated[float, Field(gt=0)]
    consent: bool = False


class Study(Section):
    """A study file. See `include/studies/` for three that are ready to use."""

    schema_version: Literal[1]
    name: Annotated[str, Field(pattern=f"^{STUDY_NAME}$")]
    description: str
    seed: Annotated[int, Field(ge=0)] = 42
    record_sizes_bytes: Annotated[list[Annotated[int, Field(ge=1, le=1_000_000)]], Field(min_length=1)]
    factors: Annotated[dict[str, Factor], Field(min_length=1)]
    constraints: list[str] = []
    baseline: dict[str, PropertyValue] = {}
    durability: Durability | None = None
    objectives: list[Objective] = list(OBJECTIVES)
    design: Design
    workload: Workload = Workload()
    protocol: Protocol
    validation: Validation = Validation()
    surrogate: Surrogate = Surrogate()
    search: Search = Search()
    confirmation: Confirmation
    cluster: ForeignCluster | None = None

    @field_validator("durability", mode="before")
    @classmethod
    def _durability_by_name(cls, given: Any) -> Any:
        if given is None or isinstance(given, Durability):
            return given
        if given not in Durability.__members__:
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
    def _four_objectives(cls, objectives: list[Objective]) -> list[Objective]:
        if sorted(objectives) != sorted(OBJECTIVES):
            raise ValueError(f"must name each of {', '.join(OBJECTIVES)} once")
        return objectives

    @field_validator("record_sizes_bytes")
    @classmethod
    def _record_sizes_are_unique(cls, sizes: list[int]) -> list[int]:
        if len(set(sizes)) != len(sizes):
            raise ValueError("lists a record size twice")
        return sizes

    @model_validator(mode="after")
    def _constraints_leave_something(self) -> Self:
        constraints = self.parsed_constraints()
        for constraint in constraints:
            constraint.check(self.factors)
        for size in self.record_sizes_bytes:
            if not _is_feasible(self.factors, constraints, size):
                rules = ", ".join(self.constraints)
                raise ValueError(f"constraints: no configuration satisfies {rules} at {RECORD_SIZE} {size}")
        return self

    def parsed_constraints(self) -> list[Constraint]:
        """The constraints, ready to be asked."""
        return [Constraint.parse(text) for text in self.constraints]

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

    def weakest_durability(self) -> Durability:
        """The weakest durability that may be recommended: as stated, else the baseline's own."""
        return self.durability_of(self.baseline_configuration()) if self.durability is None else self.durability

    def with_overrides(
        self,
        record_sizes_bytes: list[int] | None = None,
        seed: int | None = None,
        repetitions: int | None = None,
        cluster: ForeignCluster | None = None,
    ) -> Study:
        """This study with what a single campaign wants otherwise, checked like a file.

        Fewer repetitions than the study's minimum lower that minimum too: they were asked for.

        Raises:
            StudyError: Naming the override and the rule that it breaks.
        """
        content = self.model_dump(exclude_none=True)
        if record_sizes_bytes is not None:
            content["record_sizes_bytes"] = record_sizes_bytes
        if seed is not None:
            content["seed"] = seed
        if repetitions is not None:
            minimum = max(2, min(self.protocol.minimum_valid_repetitions, repetitions))
            content["protocol"] |= {"repetitions": repetitions, "minimum_valid_repetitions": minimum}
        if cluster is not None:
            content["cluster"] = cluster.model_dump(exclude_none=True)
        return _validated(content, f"{self.name} with this campaign's overrides")


def load_study(path: Path) -> Study:
    """Reads and checks a study file.

    Raises:
        StudyError: One line per defect, each with file, key, value and rule.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise StudyError(str(path), [f"cannot be read: {error.strerror}"]) from error
    return parse_study(text, str(path), path.parent)


def load_named_study(folder: Path, name: str) -> Study:
    """Reads `<folder>/<name>.yaml`.

    Raises:
        StudyError: If there is none, naming those that there are, or if it is not called like its file.
    """
    path = folder / f"{name}.yaml"
    if not re.fullmatch(STUDY_NAME, name) or not path.is_file():
        known = ", ".join(sorted(file.stem for file in folder.glob("*.yaml")))
        raise StudyError(str(folder), [f"{name}: there is no such study; there are {known or 'none'}"])
    study = load_study(path)
    if study.name != name:
        raise StudyError(str(path), [f"name: {study.name!r}: must be the file's own name, {name!r}"])
    return study


def parse_study(text: str, file: str, folder: Path | None = None) -> Study:
    """Checks the text of a study file; `file` names it in messages.

    A `baseline` that is a string names a `producer.properties` relative to `folder`; the study then holds its values.

    Raises:
        StudyError: One line per defect, each with file, key, value and rule.
    """
    try:
        content = yaml.load(text, Loader=_UniqueKeyLoader)  # noqa: S506 (a SafeLoader)
    except yaml.YAMLError as error:
        raise StudyError(file, [f"is not valid YAML: {' '.join(str(error).split())}"]) from error
    if not isinstance(content, dict):
        raise StudyError(file, ["must be a mapping of keys to values"])
    if folder is not None and isinstance(content.get("baseline"), str):
        content["baseline"] = _properties_in_file(folder / content["baseline"], file)
    return _validated(content, file)


def dump_study(study: Study) -> str:
    """The study as YAML that `parse_study` reads back as an equal study."""
    content = study.model_dump(mode="json", exclude_none=True)
    if study.durability is not None:
        content["durability"] = study.durability.name
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True)


def _validated(content: dict[str, Any], file: str) -> Study:
    try:
        return Study.model_validate(content)
    except ValidationError as error:
        raise StudyError(file, _problems(error)) from error


def _properties_in_file(path: Path, study_file: str) -> dict[str, PropertyValue]:
    """The tunable properties of a user's `producer.properties`; addresses, credentials and classes are passed over."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise StudyError(study_file, [f"baseline: {path}: cannot be read: {error.strerror}"]) from error
    found: dict[str, PropertyValue] = {}
    for name, value in parse_properties(text).items():
        if name in DEFAULTS:
            try:
                found[name] = typed_value(name, value)
            except ValueError as error:
                raise StudyError(study_file, [f"baseline: {path}: {error}"]) from error
    return found


def _is_feasible(factors: dict[str, Factor], constraints: list[Constraint], record_size_bytes: int) -> bool:
    """Whether any configuration satisfies the constraints: of one factor exactly, between two at their extremes."""
    try:
        remaining = narrowed(factors, constraints, record_size_bytes)
    except ValueError:
        return False
    between = [constraint for constraint in constraints if len(set(constraint.factors_in(factors))) == 2]
    bound = sorted({name for constraint in between for name in constraint.factors_in(factors)})
    corners = product(*(remaining[name].extremes() for name in bound))
    return any(satisfies(between, dict(zip(bound, corner, strict=True)), record_size_bytes) for corner in corners)


class _UniqueKeyLoader(yaml.SafeLoader):
    """YAML that refuses a key given twice, which plain YAML would silently overwrite."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"key {key!r} is given twice", node.start_mark)
        return super().construct_mapping(node, deep)


def _problems(error: ValidationError) -> list[str]:
    """One line per key; of a number that may be whole or not, pydantic reports both refusals."""
    return list({_key(detail): _problem(detail) for detail in reversed(error.errors())}.values())[::-1]


def _key(detail: Any) -> str:
    return ".".join(str(part) for part in detail["loc"] if part not in _UNION_TAGS)


def _problem(detail: Any) -> str:
    key, rule = _key(detail), detail["msg"].removeprefix("Value error, ")
    if detail["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(detail["loc"][-1]), _known_keys(detail["loc"]), n=1)
        rule = "is not a key of a study" + (f"; did you mean {near[0]}?" if near else "")
    if detail["type"] == "int_type" and _UNION_TAGS[-1] in detail["loc"]:
        rule = "Input should be a number"
    value = detail["input"]
    shown = "" if isinstance(value, (dict, list)) and len(str(value)) > 60 else f" {value!r}:"
    return f"{key}:{shown} {rule}" if key else rule


def _known_keys(location: tuple[Any, ...]) -> list[str]:
    model: Any = Study
    for part in location[:-1]:
        field = getattr(model, "model_fields", {}).get(part)
        model = getattr(field, "annotation", None)
    return list(getattr(model, "model_fields", {}))
