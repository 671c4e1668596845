"""JSON artifacts of a campaign. Each repetition is a record, stored before the next begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field

from kafka_pareto.storage.record import Frozen, Record
from kafka_pareto.study.factors import FactorValue
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.overrides import Override
from kafka_pareto.study.quantity import Value

_FACT_WORDS: Mapping[str, str] = {
    "kafka_version": "Kafka",
    "cluster_id": "cluster",  # an ID, or `own brokers`
    "topic_partitions": "partitions",
    "min_insync_replicas": "min.insync.replicas",
    "broker_heap_mib": "broker heap [MiB]",
    "client_host": "client machine",
    "client_cpu": "client CPU",
    "load_and_brokers_share_a_machine": "load generator and brokers share a machine",
}

# Append only: the random order within a block depends on a phase's position.
Phase = Literal["design", "choice", "gain", "noise", "final"]


Outcome = Literal["valid", "records_lost", "records_duplicated", "failed"]


class Timeline(Frozen):
    """Observations of a repetition per slice, from the first record sent.

    Attributes:
        what: The process that was broken, or the action; empty without a fault.
        ended_s: When the process resumed or was restarted, or the action ended.
        done: Orders or events completed; `latency_p95_ms` is theirs, None without any.
        series: A driver's further observations, by quantity with unit.
    """

    what: str = ""
    began_s: float = 0.0
    ended_s: float = 0.0
    done: list[int]
    latency_p95_ms: list[float | None]
    series: dict[str, list[float | None]] = Field(default_factory=dict)
    slice_s: float = 1.0


class Repetition(Record):
    """One execution of a configuration in one case, and its result.

    The head is common to all drivers; `quantities` are the driver's. `repetition_id` is
    `<phase>-r<round>-<case>-b<block>-<configuration id>` and survives restarts. `upsets` counts attempts that left the
    system changed: a leader change, or an unhealthy cluster. `broken_rules` names the plausibility rules it failed.
    `client_cpu_s` is the load process's; load average and fractions are the machine's.
    """

    repetition_id: str
    phase: Phase
    round: int
    case: str
    configuration_id: str
    is_baseline: bool
    configuration: dict[str, FactorValue]
    block: int
    order_in_block: int
    outcome: Outcome
    reason: str = ""
    broken_rules: list[str] = Field(default_factory=list)
    attempts: int
    upsets: int = 0
    started_at: str
    wall_s: float
    client_cpu_s: float
    load_1m: float
    cpu_steal_fraction: float
    other_cpu_fraction: float
    quantities: dict[str, Value]
    timeline: Timeline | None = None

    def number(self, name: str) -> float | None:
        """Return a quantity as a number; None if it is not one."""
        value = self.quantities[name]
        return None if value is None else float(value)

    def with_values(self, values: Mapping[str, Any]) -> Self:
        """Return a copy with other values of the head or of existing quantities; unchecked like `model_copy`."""
        of_quantities = {name: value for name, value in values.items() if name in self.quantities}
        of_head = {name: value for name, value in values.items() if name not in of_quantities}
        if unknown := sorted(set(of_head) - set(type(self).model_fields)):
            raise KeyError(f"{unknown[0]} is not a value of {self.repetition_id}")
        return self.model_copy(update={**of_head, "quantities": {**self.quantities, **of_quantities}})


class Stop(Frozen):
    """Reason why no further round follows in a case.

    `rise_too_small`: two rounds raised the measured hypervolume by less than the study's minimum. `last_round`: the
    study plans no more. `nothing_left`: no unmeasured configuration is expected to add anything.
    """

    code: Literal["rise_too_small", "last_round", "nothing_left"]
    rise_fraction: float | None = None
    least_rise_fraction: float | None = None


class RoundsSoFar(Frozen):
    """Rounds of one case, and whether another follows (`stopped_because` is None).

    The `measured_hypervolume` after each round, the design's first, is relative to one baseline, so it never falls.
    """

    case: str
    measured_hypervolume: list[float]
    stopped_because: Stop | None = None

    @property
    def rounds_measured(self) -> int:
        """Count the measured rounds after the design."""
        return len(self.measured_hypervolume) - 1


class Proposal(Record):
    """The decision before a round, for every case."""

    round: int
    cases: list[RoundsSoFar]

    def going_on(self) -> list[str]:
        """List the cases that this round measures."""
        return [each.case for each in self.cases if each.stopped_because is None]


class PriorCampaign(Frozen):
    """Contribution of an earlier campaign to a warm start: trials used, age by case; `left_out` lists what it lacks."""

    campaign: str
    age_days: dict[str, float] = Field(default_factory=dict)
    trials: int = 0
    left_out: list[str] = Field(default_factory=list)


class Prior(Record):
    """Earlier campaigns for a warm start, newest first, unused ones last; fixed in the design step."""

    half_life_days: float
    campaigns: list[PriorCampaign]


class Plan(Record):
    """Upper bounds of a campaign's cost, computed before anything is sent.

    `repetitions` includes `noise_repetitions` and each case's most confirmation repetitions. `start_s` is the wait
    before a case's first repetition: broker start, sizing loads, noise study.
    """

    repetitions: int
    fewest_repetitions: int | None = None
    noise_repetitions: int = 0
    confirmation_repetitions: dict[str, int] = Field(default_factory=dict)
    duration_s: float
    fewest_duration_s: float | None = None
    start_s: dict[str, float] = Field(default_factory=dict)
    repetition_s: dict[str, float] = Field(default_factory=dict)
    sent_gib: float
    peak_disk_gib: float
    overrides: list[Override] = Field(default_factory=list)


class Fingerprint(Record):
    """The measured system and the client's machine; `system` has the driver's facts, like versions and topic."""

    system: dict[str, str | int | list[str]]
    client_host: str
    client_cpu: str
    client_cores: int
    client_kernel: str
    load_and_brokers_share_a_machine: bool

    def facts(self) -> dict[str, str | int | list[str]]:
        """Return all facts by label, as pages show them: the system's, then the machine's."""
        machine = self.model_dump(exclude={"schema_version", "system"})
        is_shared = "yes" if machine.pop("load_and_brokers_share_a_machine") else "no"
        facts = {**self.system, **machine, "load_and_brokers_share_a_machine": is_shared}
        return {_FACT_WORDS.get(name, name.replace("_", " ")): value for name, value in facts.items()}


class RampStep(Frozen):
    """One ramp step: the target rate and the baseline's achieved rate."""

    asked_records_s: float
    held_records_s: float
    latency_p95_ms: float
    sustained: bool


class TimedLoad(Frozen):
    """An unthrottled and then a paced part, each with its own warm-up."""

    warmup_s: float
    seconds: float
    paced_warmup_s: float
    paced_seconds: float
    paced_rate_records_s: float


class Sizing(Record):
    """The load of one repetition, equal for all configurations of a case; `pilot_bytes` were sent to find it.

    `records` includes the warm-up; for a `timed` load it is estimated from the baseline's maximum rate.
    """

    records: int
    warmup_records: int
    throughput_limit_records_s: float | None
    timed: TimedLoad | None = None
    capacity_records_s: float | None = None
    ramp: list[RampStep] = Field(default_factory=list)
    pilot_bytes: int = 0


class NoiseOfObjective(Frozen):
    """Noise of one objective of the baseline, and the effects detectable above it.

    Attributes:
        value: Over all repetitions of the noise study.
        noise_floor_fraction: Half-width of the interval of the change between two equal samples of `blocks` blocks,
            simultaneous at 95 % over all objectives and cases. None with too few blocks.
        minimum_detectable_effect_fraction: The change that `blocks` blocks detect with 80 % power.
        blocks_for_wanted_effect: Blocks needed for the wanted effect; None beyond 100,000.
    """

    objective: ObjectiveName
    value: float | None
    noise_floor_fraction: float | None
    minimum_detectable_effect_fraction: float | None
    blocks_for_wanted_effect: int | None


class NoiseReport(Record):
    """A/A study of the baseline in one case; `blocks` are the study's planned gain blocks."""

    case: str
    repetitions: int
    blocks: int
    comparisons: int
    wanted_effect_fraction: float
    objectives: list[NoiseOfObjective]
    repetition_ids: list[str]


class ExpectationResult(Frozen):
    """Result of one expectation of the validation over the whole campaign."""

    suite: str
    name: str
    column: str | None
    severity: Literal["critical", "warning"]
    reason: str
    success: bool
    failed_rows: int
    observed: str


class ValidationSummary(Record):
    """Validation of one round; `lost_fraction` (rejected or failed) alone includes earlier rounds."""

    passed: bool
    repetitions_planned: int
    repetitions_stored: int
    repetitions_accepted: int
    repetitions_rejected: int
    repetitions_failed: int
    repetitions_lost_records: int
    repetitions_missing: int
    lost_fraction: float
    tolerated_fraction: float
    problems: list[str]
    expectations: list[ExpectationResult]
