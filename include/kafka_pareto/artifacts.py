"""Every artifact of a campaign: its key in the store, its schema, its version. Defined here and nowhere else.

Tables are Parquet with fixed columns (units in the names) and one further column per factor of the study, named by
the Kafka property. One repetition is one JSON object, so that it is in the store before the next begins.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, ValidationError

from kafka_pareto.errors import ArtifactError
from kafka_pareto.factors import CategoricalFactor, FactorValue
from kafka_pareto.study import Objective, Study

SCHEMA_VERSION = 2
_VERSION_KEY = b"kafka_pareto.schema_version"
_LONGEST_QUOTE = 200

Phase = Literal["design", "choice", "gain", "noise"]
Outcome = Literal["valid", "records_lost", "records_duplicated", "failed"]


@dataclass(frozen=True)
class CampaignKeys:
    """The keys of one campaign's artifacts, all under `<study>/<campaign>/`."""

    study: str
    campaign: str

    @property
    def prefix(self) -> str:
        return f"{self.study}/{self.campaign}"

    def frozen_study(self) -> str:
        return f"{self.prefix}/study.yaml"

    def plan(self) -> str:
        """Repetitions, duration, bytes and peak disk as computed before the start (JSON, `Plan`)."""
        return f"{self.prefix}/plan.json"

    def fingerprint(self, record_size_bytes: int) -> str:
        """The cluster and machine as found when measuring of this record size began (JSON, `Fingerprint`)."""
        return f"{self.prefix}/fingerprints/{record_size_bytes}.json"

    def design(self, round_number: int = 0) -> str:
        return f"{self._round(round_number)}/01_design.parquet"

    def measurements(self, record_size_bytes: int, round_number: int = 0) -> str:
        """The prefix below which a record size's repetitions lie, one JSON object each."""
        return f"{self._round(round_number)}/02_measurements/{record_size_bytes}/"

    def sizing(self, record_size_bytes: int, round_number: int = 0) -> str:
        """How many records one repetition of this record size sends (JSON, `Sizing`)."""
        return f"{self._round(round_number)}/02_measurements/{record_size_bytes}_sizing.json"

    def set_aside(self, record_size_bytes: int, round_number: int = 0) -> str:
        """The prefix of repetitions that were measured in a block which had to be measured again."""
        return f"{self._round(round_number)}/02_set_aside/{record_size_bytes}/"

    def noise(self, record_size_bytes: int, round_number: int = 0) -> str:
        """The A/A study of the baseline (JSON, `NoiseReport`); its repetitions lie below `noise_repetitions`."""
        return f"{self._round(round_number)}/02_noise/{record_size_bytes}.json"

    def noise_repetitions(self, record_size_bytes: int, round_number: int = 0) -> str:
        return f"{self._round(round_number)}/02_noise/{record_size_bytes}/"

    def payload(self) -> str:
        """The text that records are cut from, where the study names a file."""
        return f"{self.prefix}/payload.txt"

    def trials(self, round_number: int = 0) -> str:
        return f"{self._round(round_number)}/03_trials.parquet"

    def validation(self, name: str, round_number: int = 0) -> str:
        """`rejected.parquet`, `summary.json` and the site `data_docs/…` of the validation."""
        return f"{self._round(round_number)}/03_validation/{name}"

    def surrogates(self, name: str, round_number: int = 0) -> str:
        """`<objective>.ubj`, `scores.parquet` and `figures/…` of the training."""
        return f"{self._round(round_number)}/04_surrogates/{name}"

    def front(self, record_size_bytes: int, round_number: int = 0) -> str:
        return f"{self._round(round_number)}/05_front/{record_size_bytes}.parquet"

    def hypervolume(self, record_size_bytes: int, round_number: int = 0) -> str:
        return f"{self._round(round_number)}/05_front/{record_size_bytes}_hypervolume.parquet"

    def confirmation(self, record_size_bytes: int, name: str = "") -> str:
        """`candidates.parquet`, `repetitions/…`, `trials.parquet`, `decision.json` of one record size."""
        return f"{self.prefix}/06_confirmation/{record_size_bytes}/{name}"

    def report(self, name: str) -> str:
        """`report.html`, `cards.json`, `<record_size>/producer.properties`, `figures/…`, `tables/…`."""
        return f"{self.prefix}/07_report/{name}"

    def _round(self, round_number: int) -> str:
        return f"{self.prefix}/round={round_number:02d}"


class Record(BaseModel):
    """A JSON artifact; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal[2] = 2


AnyRecord = TypeVar("AnyRecord", bound=Record)


class Repetition(Record):
    """One execution of a load tool for one configuration at one record size, and what came of it.

    `repetition_id` is `<phase>-r<round>-<record size>-b<block>-<configuration id>`: the same repetition has the same
    id however often its task is restarted. Throughput and latencies are None when the tool printed none;
    `throughput_mib_s` follows from the records per second, `printed_mib_s` is the tool's own figure, rounded to 0.01.

    Latencies count from the moment at which a record was due (load generator, paced part), or from the call of
    `send()` (Kafka's tool, which knows no other); `latency_from_send_p95_ms` is the latter in both. The two `…_in_run`
    are of this run alone: spread of its latencies, and of the throughput of its windows. The client's metrics, from
    `queue_time_avg_ms` on, are the producer's own. `generator_bound` says why the load tool rather than Kafka set the
    pace; empty when it did not.
    """

    repetition_id: str
    phase: Phase
    round: int
    record_size_bytes: int
    configuration_id: str
    is_baseline: bool
    configuration: dict[str, FactorValue]
    block: int
    order_in_block: int
    outcome: Outcome
    reason: str = ""
    attempts: int
    window: Literal["whole_run", "steady_state"]
    started_at: str
    records_requested: int
    records_sent: int | None
    end_offset_growth: int | None
    throughput_records_s: float | None
    throughput_mib_s: float | None
    printed_mib_s: float | None
    latency_avg_ms: float | None
    latency_max_ms: float | None
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    latency_p99_ms: float | None
    latency_p999_ms: float | None
    latency_p9999_ms: float | None = None
    latency_from_send_p95_ms: float | None = None
    latency_cv_in_run: float | None = None
    throughput_cv_in_run: float | None = None
    paced_rate_asked_records_s: float | None = None
    paced_rate_records_s: float | None = None
    queue_time_avg_ms: float | None = None
    queue_time_max_ms: float | None = None
    request_latency_avg_ms: float | None = None
    request_latency_max_ms: float | None = None
    batch_size_avg_bytes: float | None = None
    compression_rate_avg: float | None = None
    records_per_request_avg: float | None = None
    buffer_wait_s: float | None = None
    buffer_exhausted_records: float | None = None
    record_retries: float | None = None
    generator_bound: str = ""
    wall_s: float
    client_cpu_s: float
    load_1m: float
    cpu_steal_fraction: float
    other_cpu_fraction: float
    produce_throttle_max_ms: float | None


class Plan(Record):
    """What a campaign will cost at most, computed before anything is sent; the fewest where repetitions are adaptive.

    The `noise_repetitions` are among the repetitions.
    """

    repetitions: int
    fewest_repetitions: int | None = None
    noise_repetitions: int = 0
    duration_s: float
    fewest_duration_s: float | None = None
    sent_gib: float
    peak_disk_gib: float


class Fingerprint(Record):
    """The cluster and the machine that a campaign measured."""

    kafka_version: str
    cluster_id: str
    brokers: list[str]
    topic: str
    topic_partitions: int
    replication_factor: int
    min_insync_replicas: int
    client_host: str
    client_cpu: str
    client_cores: int
    client_kernel: str
    load_and_brokers_share_a_machine: bool


class RampStep(BaseModel):
    """One step of the ramp: the rate that was asked of the baseline, and the one that it held."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    asked_records_s: float
    held_records_s: float
    latency_p95_ms: float
    sustained: bool


class TimedLoad(BaseModel):
    """What the load generator does: an unthrottled part, then a paced one; each has a warm-up of its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    warmup_s: float
    seconds: float
    paced_warmup_s: float
    paced_seconds: float
    paced_rate_records_s: float


class Sizing(Record):
    """What one repetition sends; the same for every configuration at a record size.

    `records` includes the warm-up. Of a `timed` load it is an estimate from the baseline's pace: a faster
    configuration sends more. The ramp is what found the baseline's capacity, where the protocol asks for a rate.
    `pilot_bytes` is what it took to find all this out.
    """

    records: int
    warmup_records: int
    throughput_limit_records_s: float | None
    timed: TimedLoad | None = None
    capacity_records_s: float | None = None
    ramp: list[RampStep] = []
    pilot_bytes: int = 0


class NoiseOfObjective(BaseModel):
    """How much one objective of the baseline differs from itself, and what can be found above that.

    Attributes:
        value: The objective over all repetitions of the noise study.
        noise_floor_fraction: Half of the 95 % interval of the change between two equal samples of `blocks` blocks.
        minimum_detectable_effect_fraction: The change that `blocks` blocks find with 80 % power at 5 % after Holm.
        blocks_for_wanted_effect: Blocks that it takes to find the wanted effect; None beyond 100,000.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    objective: Objective
    value: float | None
    noise_floor_fraction: float | None
    minimum_detectable_effect_fraction: float | None
    blocks_for_wanted_effect: int | None


class NoiseReport(Record):
    """The A/A study of the baseline at one record size: `blocks` are the gain blocks that the study plans."""

    record_size_bytes: int
    repetitions: int
    blocks: int
    comparisons: int
    wanted_effect_fraction: float
    objectives: list[NoiseOfObjective]
    repetition_ids: list[str]


class ExpectationResult(BaseModel):
    """What one expectation of the validation came to, over the whole campaign."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    suite: str
    name: str
    column: str | None
    severity: Literal["critical", "warning"]
    reason: str
    success: bool
    failed_rows: int
    observed: str


class ValidationSummary(Record):
    """What the validation found; `lost_fraction` is of rejected and failed repetitions among all that are stored."""

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


class Manifest(Record):
    """What a step says when it ends: keys and counts, in one line; it alone travels between tasks."""

    step: str
    study: str
    campaign: str
    record_sizes_bytes: list[int]
    artifacts: list[str]
    counts: dict[str, int | float]


REPETITION_COLUMNS: dict[str, pa.DataType] = {
    "repetition_id": pa.string(),
    "phase": pa.string(),
    "round": pa.int64(),
    "record_size_bytes": pa.int64(),
    "configuration_id": pa.string(),
    "is_baseline": pa.bool_(),
    "block": pa.int64(),
    "order_in_block": pa.int64(),
    "outcome": pa.string(),
    "reason": pa.string(),
    "attempts": pa.int64(),
    "window": pa.string(),
    "started_at": pa.string(),
    "records_requested": pa.int64(),
    "records_sent": pa.int64(),
    "end_offset_growth": pa.int64(),
    "throughput_records_s": pa.float64(),
    "throughput_mib_s": pa.float64(),
    "printed_mib_s": pa.float64(),
    "latency_avg_ms": pa.float64(),
    "latency_max_ms": pa.float64(),
    "latency_p50_ms": pa.float64(),
    "latency_p95_ms": pa.float64(),
    "latency_p99_ms": pa.float64(),
    "latency_p999_ms": pa.float64(),
    "latency_p9999_ms": pa.float64(),
    "latency_from_send_p95_ms": pa.float64(),
    "latency_cv_in_run": pa.float64(),
    "throughput_cv_in_run": pa.float64(),
    "paced_rate_asked_records_s": pa.float64(),
    "paced_rate_records_s": pa.float64(),
    "queue_time_avg_ms": pa.float64(),
    "queue_time_max_ms": pa.float64(),
    "request_latency_avg_ms": pa.float64(),
    "request_latency_max_ms": pa.float64(),
    "batch_size_avg_bytes": pa.float64(),
    "compression_rate_avg": pa.float64(),
    "records_per_request_avg": pa.float64(),
    "buffer_wait_s": pa.float64(),
    "buffer_exhausted_records": pa.float64(),
    "record_retries": pa.float64(),
    "generator_bound": pa.string(),
    "wall_s": pa.float64(),
    "client_cpu_s": pa.float64(),
    "load_1m": pa.float64(),
    "cpu_steal_fraction": pa.float64(),
    "other_cpu_fraction": pa.float64(),
    "produce_throttle_max_ms": pa.float64(),
}

_CONFIGURATION_COLUMNS: dict[str, pa.DataType] = {
    "record_size_bytes": pa.int64(),
    "configuration_id": pa.string(),
    "is_baseline": pa.bool_(),
    "feasible": pa.bool_(),
    "durability": pa.string(),
}

DESIGN_COLUMNS = _CONFIGURATION_COLUMNS

TRIAL_COLUMNS: dict[str, pa.DataType] = {
    **_CONFIGURATION_COLUMNS,
    "repetitions_valid": pa.int64(),
    "repetitions_lost_records": pa.int64(),
    "repetitions_failed": pa.int64(),
    "attempts": pa.int64(),
    "p95_latency_ms": pa.float64(),
    "throughput_mib_s": pa.float64(),
    "latency_cv": pa.float64(),
    "throughput_cv": pa.float64(),
    "repetition_ids": pa.list_(pa.string()),
}

REJECTED_COLUMNS: dict[str, pa.DataType] = {**REPETITION_COLUMNS, "rejected_because": pa.string()}

SCORE_COLUMNS: dict[str, pa.DataType] = {
    "objective": pa.string(),
    "record_size_bytes": pa.int64(),  # null: pooled over record sizes
    "r2_train": pa.float64(),
    "r2_held_out": pa.float64(),
    "mae_held_out": pa.float64(),
    "rmse_held_out": pa.float64(),
    "r2_noise_ceiling": pa.float64(),
    "configurations_train": pa.int64(),
    "configurations_held_out": pa.int64(),
    "learnable": pa.bool_(),
}

FRONT_COLUMNS: dict[str, pa.DataType] = {
    **_CONFIGURATION_COLUMNS,
    "durability_accepted": pa.bool_(),
    "estimated_p95_latency_ms": pa.float64(),
    "estimated_throughput_mib_s": pa.float64(),
    "estimated_latency_cv": pa.float64(),
    "estimated_throughput_cv": pa.float64(),
}

HYPERVOLUME_COLUMNS: dict[str, pa.DataType] = {
    "record_size_bytes": pa.int64(),
    "generation": pa.int64(),
    "evaluations": pa.int64(),
    "hypervolume": pa.float64(),
}

CANDIDATE_COLUMNS: dict[str, pa.DataType] = {**FRONT_COLUMNS, "chosen_as": pa.list_(pa.string())}


def table_schema(columns: dict[str, pa.DataType], study: Study | None = None) -> pa.Schema:
    """The Arrow schema of a table: its fixed columns, then one column per factor when a study is given."""
    fields = [pa.field(name, kind) for name, kind in columns.items()]
    for name, factor in (study.factors if study else {}).items():
        integer = factor.type == "integer"
        kind = pa.string() if isinstance(factor, CategoricalFactor) else pa.int64() if integer else pa.float64()
        fields.append(pa.field(name, kind))
    return pa.schema(fields, metadata={_VERSION_KEY: str(SCHEMA_VERSION).encode()})


def encode_table(frame: pd.DataFrame, columns: dict[str, pa.DataType], study: Study | None = None) -> bytes:
    """The frame as Parquet; its columns must be exactly the schema's, in any order.

    Raises:
        ArtifactError: If a column is missing, unknown or of another type.
    """
    schema = table_schema(columns, study)
    if set(frame.columns) != set(schema.names):
        difference = sorted(set(frame.columns) ^ set(schema.names))
        raise ArtifactError(f"a table's columns do not match its schema; they differ in {', '.join(difference)}")
    try:
        table = pa.Table.from_pandas(frame[schema.names], schema=schema, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ArtifactError(f"a table's values do not match its schema: {error}") from error
    buffer = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(schema.metadata), buffer)
    return buffer.getvalue()


def decode_table(content: bytes, key: str, columns: dict[str, pa.DataType], study: Study | None = None) -> pd.DataFrame:
    """Reads a Parquet artifact and checks its schema version and columns; `key` names it in messages.

    Raises:
        ArtifactError: If it is damaged, of another schema version, or lacks a column.
    """
    try:
        # Without Arrow's threads: one that still held Python's bytes when the step ended would abort the process.
        with pq.ParquetFile(io.BytesIO(content), pre_buffer=False) as file:
            table = file.read(use_threads=False)
    except (pa.ArrowInvalid, OSError) as error:
        raise ArtifactError(f"{key}: is no readable Parquet file ({error})") from error
    found = (table.schema.metadata or {}).get(_VERSION_KEY, b"none").decode()
    if found != str(SCHEMA_VERSION):
        raise ArtifactError(_other_version(key, found))
    schema = table_schema(columns, study)
    if missing := [name for name in schema.names if name not in table.column_names]:
        raise ArtifactError(f"{key}: lacks the columns {', '.join(missing)}")
    frame: pd.DataFrame = table.select(schema.names).to_pandas()
    return frame


def decode_record(content: bytes, key: str, model: type[AnyRecord]) -> AnyRecord:
    """Reads a JSON artifact; `key` names it in messages.

    Raises:
        ArtifactError: If it is damaged, of another schema version, or breaks its schema.
    """
    try:
        return model.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        if first["loc"] == ("schema_version",):
            raise ArtifactError(_other_version(key, first["input"])) from error
        place = ".".join(str(part) for part in first["loc"]) or "is no readable JSON"
        found = repr(first["input"])
        shown = found if len(found) <= _LONGEST_QUOTE else f"{found[:_LONGEST_QUOTE]}…"
        raise ArtifactError(f"{key}: {place}: {shown}: {first['msg']}") from error


def repetition_row(repetition: Repetition) -> dict[str, Any]:
    """The repetition as a flat row: its fixed columns, then its factors'."""
    return {**repetition.model_dump(exclude={"configuration", "schema_version"}), **repetition.configuration}


def repetitions_frame(repetitions: Sequence[Repetition], study: Study) -> pd.DataFrame:
    """Repetitions as a table: the fixed columns, then one column per factor."""
    rows = [repetition_row(repetition) for repetition in repetitions]
    schema = table_schema(REPETITION_COLUMNS, study)
    frame: pd.DataFrame = pa.Table.from_pylist(rows, schema=schema).to_pandas()
    return frame


def _other_version(key: str, found: object) -> str:
    return (
        f"{key}: schema_version {found}: this release reads version {SCHEMA_VERSION}; "
        "start a new campaign, or use the release that wrote it"
    )
