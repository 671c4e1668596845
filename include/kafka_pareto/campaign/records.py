"""Defines the JSON artifacts of a campaign: one model each, with units in the names; unknown keys are refused.

One repetition is one record, so that it is in the store before the next begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field

from kafka_pareto.storage.record import Frozen, Record
from kafka_pareto.study.factors import FactorValue
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.overrides import Override
from kafka_pareto.study.quantity import Value

# New ones stand last: the order within a block is drawn from a phase's place here.
Phase = Literal["design", "choice", "gain", "noise", "final"]


Outcome = Literal["valid", "records_lost", "records_duplicated", "failed"]


class Timeline(Frozen):
    """Holds what was seen in each second of a repetition, or in each slice, from the first that was sent.

    Attributes:
        what: The process that was broken, or what was done; empty where nothing was.
        began_s: When.
        ended_s: When it went on, was started again, or was over.
        done: How many orders or events came to their end in each second.
        latency_p95_ms: Of orders that came to their end in it; of events that were logged in it. None where none was.
        series: What else a driver saw, by quantity with its unit.
        slice_s: How long a slice is.
    """

    what: str = ""
    began_s: float = 0.0
    ended_s: float = 0.0
    done: list[int]
    latency_p95_ms: list[float | None]
    series: dict[str, list[float | None]] = Field(default_factory=dict)
    slice_s: float = 1.0


class Repetition(Record):
    """Holds one execution of a configuration in one case, and its result.

    The head is the same for every driver; `quantities` holds what the study's driver declares, by name.
    `repetition_id` is `<phase>-r<round>-<case>-b<block>-<configuration id>`: the same repetition has the same id
    however often its task is restarted. `upsets` counts the attempts at it that left the system otherwise than it was
    before: a leader had moved, or it was in trouble. `broken_rules` names the rules of plausibility that it failed for.
    `client_cpu_s` is of the process that ran it, the load and the fractions are of the machine.
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
        """Returns a quantity that is a number; None where the repetition has none."""
        value = self.quantities[name]
        return None if value is None else float(value)

    def with_values(self, values: Mapping[str, Any]) -> Self:
        """Returns a copy with other values, of the head or of quantities that it has; unchecked like `model_copy`."""
        of_quantities = {name: value for name, value in values.items() if name in self.quantities}
        of_head = {name: value for name, value in values.items() if name not in of_quantities}
        if unknown := sorted(set(of_head) - set(type(self).model_fields)):
            raise KeyError(f"{unknown[0]} is no value of {self.repetition_id}")
        return self.model_copy(update={**of_head, "quantities": {**self.quantities, **of_quantities}})


class Stop(Frozen):
    """Holds why no further round follows in a case.

    Attributes:
        code: `rise_too_small`: the last two rounds brought less than the study asks for. `last_round`: the study plans
            no other. `nothing_left`: no configuration that was not measured is expected to add anything.
        rise_fraction: What the two rounds raised the measured hypervolume by when it was decided; of `rise_too_small`.
        least_rise_fraction: What the study asks for; of `rise_too_small`.
    """

    code: Literal["rise_too_small", "last_round", "nothing_left"]
    rise_fraction: float | None = None
    least_rise_fraction: float | None = None


class RoundsSoFar(Frozen):
    """Holds the result of the rounds in one case, and whether another round follows.

    Attributes:
        measured_hypervolume: After each round that was measured here, the design's first. All are relative to the same
            baseline, so the value never falls.
        stopped_because: Why no further round follows; None while one does.
    """

    case: str
    measured_hypervolume: list[float]
    stopped_because: Stop | None = None

    @property
    def rounds_measured(self) -> int:
        """Counts the rounds after the design that were measured."""
        return len(self.measured_hypervolume) - 1


class Proposal(Record):
    """Holds what was decided before a round, for every case of the study."""

    round: int
    cases: list[RoundsSoFar]

    def going_on(self) -> list[str]:
        """Lists the cases that this round measures."""
        return [each.case for each in self.cases if each.stopped_because is None]


class PriorCampaign(Frozen):
    """Describes what an earlier campaign gives to a warm start; `left_out` names what it does not give, and why.

    Attributes:
        age_days: For each case that is used, the age of the last repetition that the campaign measured there.
        trials: How many are used, over all these cases.
    """

    campaign: str
    age_days: dict[str, float] = Field(default_factory=dict)
    trials: int = 0
    left_out: list[str] = Field(default_factory=list)


class Prior(Record):
    """Lists the earlier campaigns that a campaign begins with, the newest first. Its design step decides this once.

    Campaigns that give nothing come last.
    """

    half_life_days: float
    campaigns: list[PriorCampaign]


class Plan(Record):
    """Holds what a campaign will cost at most, computed before anything is sent.

    The fewest repetitions are stated where they may differ. The `noise_repetitions` are among the repetitions, and so
    is the most that each case's confirmation takes.
    `start_s` is what a case's first repetition waits for: brokers that start, loads that size the others, the noise
    study. `repetition_s` is the time of each.
    `overrides` are the values that the campaign was asked for instead of its study file's.
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
    """Describes the system and the client's machine that a campaign measured.

    `system` holds what the driver says of the system, by name: of the producer's the Kafka version, the brokers, the
    topic and its settings.
    """

    system: dict[str, str | int | list[str]]
    client_host: str
    client_cpu: str
    client_cores: int
    client_kernel: str
    load_and_brokers_share_a_machine: bool

    def facts(self) -> dict[str, str | int | list[str]]:
        """Returns all that it says, flat: the system's facts, then the machine's."""
        return {**self.system, **self.model_dump(exclude={"schema_version", "system"})}


class RampStep(Frozen):
    """Holds one step of the ramp: the rate that was asked of the baseline, and the rate that it held."""

    asked_records_s: float
    held_records_s: float
    latency_p95_ms: float
    sustained: bool


class TimedLoad(Frozen):
    """Describes what the load generator does: an unthrottled part, then a paced one, each with a warm-up of its own."""

    warmup_s: float
    seconds: float
    paced_warmup_s: float
    paced_seconds: float
    paced_rate_records_s: float


class Sizing(Record):
    """Holds what one repetition sends, the same for every configuration of a case.

    `records` includes the warm-up. For a `timed` load it is an estimate from the baseline's pace: a faster
    configuration sends more. Where the protocol asks for a rate, the ramp found the baseline's capacity. `pilot_bytes`
    counts the bytes sent to find all this out.
    """

    records: int
    warmup_records: int
    throughput_limit_records_s: float | None
    timed: TimedLoad | None = None
    capacity_records_s: float | None = None
    ramp: list[RampStep] = Field(default_factory=list)
    pilot_bytes: int = 0


class NoiseOfObjective(Frozen):
    """Holds the noise of one objective of the baseline, and the effects that can be found above it.

    Attributes:
        value: The objective over all repetitions of the noise study.
        noise_floor_fraction: Half of the interval of the change between two equal samples of `blocks` blocks; the
            intervals of all objectives and cases hold together at 95 %. None where there are too few blocks for any.
        minimum_detectable_effect_fraction: The change that `blocks` blocks show with 80 % power.
        blocks_for_wanted_effect: Blocks that it takes to show the wanted effect; None beyond 100,000.
    """

    objective: ObjectiveName
    value: float | None
    noise_floor_fraction: float | None
    minimum_detectable_effect_fraction: float | None
    blocks_for_wanted_effect: int | None


class NoiseReport(Record):
    """Holds the A/A study of the baseline in one case; `blocks` are the gain blocks that the study plans."""

    case: str
    repetitions: int
    blocks: int
    comparisons: int
    wanted_effect_fraction: float
    objectives: list[NoiseOfObjective]
    repetition_ids: list[str]


class ExpectationResult(Frozen):
    """Holds the result of one expectation of the validation, over the whole campaign."""

    suite: str
    name: str
    column: str | None
    severity: Literal["critical", "warning"]
    reason: str
    success: bool
    failed_rows: int
    observed: str


class ValidationSummary(Record):
    """Holds the result of the validation in one round.

    `lost_fraction` is the share of rejected and failed repetitions among all stored ones. It alone counts the earlier
    rounds, too.
    """

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
