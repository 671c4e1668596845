"""Requests and results shared by all load tools, and the parser of our tools' last line."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import methodcaller
from pathlib import Path
from typing import Annotated, Any, Protocol, Self, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, model_validator

from kafka_pareto.campaign.records import TimedLoad
from kafka_pareto.errors import LoadToolError
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.kafka.librdkafka_properties import SETTINGS
from kafka_pareto.kafka.producer_settings import ProducerClient
from kafka_pareto.study.quantity import Resolution, Shown
from kafka_pareto.study.workload import BUNDLED, Arrival, MadePayload, ProducerLoad, Sends

# Of a record in librdkafka's queue, besides its content, and of the callback that awaits it; rounded up.
_OVERHEAD_BYTES = 256
_AWAITED_BYTES = 96
_MIB = 1 << 20
LatencyMs: TypeAlias = Annotated[float, Resolution(methodcaller("latency_resolution_ms"))]
Amount = Annotated[FiniteFloat, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]
_Output = TypeVar("_Output", bound=BaseModel)


@dataclass(frozen=True)
class LoadRequest:
    """One execution: records, topic, rate and producer properties.

    Kafka's tool sends `records`, which include the `warmup_records`; the load generator follows `timed`.
    `throughput_records_s` limits either; None means as fast as possible. Without a `payload_file` (one value per line,
    or sampled records if `is_sampled`) the tool generates the values named by `made_payload`. Each of the load
    generator's `producers` has its own sending thread; they share all rates. `arrival` sets the inter-arrival times at
    a fixed rate; with synchronous `sends` each producer waits for the answer before the next record. `properties` are
    in the names of the `client`. `timeout_key` is the study's key that sets `timeout_s`; empty if that is fixed.
    """

    topic: str
    record_size_bytes: int
    properties: Mapping[str, PropertyValue]
    timeout_s: float
    records: int = 0
    warmup_records: int = 0
    timed: TimedLoad | None = None
    throughput_records_s: float | None = None
    payload_file: Path | None = None
    keys: int = 0
    made_payload: MadePayload = "random"
    producers: int = 1
    is_sampled: bool = False
    arrival: Arrival = "constant"
    sends: Sends = "asynchronous"
    client: ProducerClient = "java"
    client_version: str = BUNDLED
    timeout_key: str = "protocol.timeout_s"

    @classmethod
    def of(cls, load: ProducerLoad, **others: Any) -> Self:
        """Return the request to send this load; `others` are the remaining attributes."""
        return cls(
            record_size_bytes=load.record_size_bytes,
            keys=load.keys,
            made_payload=load.made_payload,
            producers=load.producers,
            is_sampled=load.is_sampled,
            arrival=load.arrival,
            sends=load.sends,
            client=load.client,
            client_version=load.client_version,
            **others,
        )

    @property
    def client_properties(self) -> Mapping[str, Mapping[str, PropertyValue]]:
        """Return the producer's properties by the tool's option that names their file."""
        return {"--command-config": self.properties}

    @property
    def heap_mib(self) -> int:
        """Return the heap the producers need, in MiB; outside Java's client it holds only what is awaited."""
        buffer_bytes, records = self.buffer
        each_bytes = 2 * buffer_bytes if self.client == "java" else records * _AWAITED_BYTES
        return 192 + self.producers * each_bytes // _MIB

    @property
    def memory_mib(self) -> int:
        """Return the heap and librdkafka's buffers, in MiB."""
        if self.client == "java":
            return self.heap_mib
        buffer_bytes, records = self.buffer
        return self.heap_mib + self.producers * (buffer_bytes + records * _OVERHEAD_BYTES) // _MIB

    @property
    def buffer(self) -> tuple[int, int]:
        """Return the largest size of one producer's buffer, in bytes and in records."""
        return SETTINGS[self.client].buffer(self.properties, self.record_size_bytes)


def client_metrics(found: Mapping[str, float]) -> ClientMetrics:
    """Read the client's metrics by Kafka's own names (group `producer-metrics`); NaN and infinity become None."""

    def value(name: str, unit: float = 1.0) -> float | None:
        number = found.get(name)
        return number * unit if number is not None and math.isfinite(number) else None

    records, bytes_ = value("record-send-total"), value("byte-total")
    per_request = value("records-per-request-avg")
    return ClientMetrics(
        queue_time_avg_ms=value("record-queue-time-avg"),
        queue_time_max_ms=value("record-queue-time-max"),
        request_latency_avg_ms=value("request-latency-avg"),
        request_latency_max_ms=value("request-latency-max"),
        batch_size_avg_bytes=value("batch-size-avg"),
        compression_rate_avg=value("compression-rate-avg"),
        records_per_request_avg=per_request,
        requests_per_thousand_records=1000 / per_request if per_request else None,
        stored_bytes_per_record=bytes_ / records if bytes_ and records else None,
        buffer_wait_s=value("bufferpool-wait-time-ns-total", 1e-9),
        buffer_exhausted_records=value("buffer-exhausted-total"),
        record_retries=value("record-retry-total"),
        produce_throttle_max_ms=value("produce-throttle-time-max"),
    )


@dataclass(frozen=True)
class MachineShare:
    """One load machine's contribution to a load.

    Attributes:
        address: `host:port`.
        cores: Processor cores that it could use, fractional in a container.
        cpu_s: CPU time of its JVM, from the request to the answer.
        records: Records acknowledged in the first part, without its warm-up.
    """

    address: str
    cores: float
    cpu_s: float
    records: int


@dataclass(frozen=True)
class LoadResult:
    """The outcome of one execution, and the cost of its process: with load `machines`, of theirs.

    `records_attempted` and `records_sent` include the warm-up; "sent" means acknowledged to the producer. `figures` is
    None if nothing was measured, as when every send failed. `paced_records_unsent` were due at the fixed rate when the
    tool stopped because of a growing backlog, so latencies were still rising.

    Between the phases the tool waits `settling_s` for the machine to write back the brokers' data. If that takes too
    long, `is_settled` is False and writing continued during the paced phase. `errors` is the tool's first complaint.

    The attributes below describe the unthrottled phase after its warm-up, for all producers' threads together.

    Attributes:
        unthrottled_began_s: Its start, in seconds from the load's start.
        unthrottled_s: Its duration.
        sending_cpu_s: CPU time of the sending threads.
        unthrottled_sent_records_s: Their rate.
        unthrottled_wait_s: Their wait for Kafka (buffer space, at the end outstanding answers); None if unknown.
        unthrottled_client: The client's metrics of this phase; `client` has the averages of the last phase.
    """

    records_attempted: int
    records_sent: int
    figures: LoadFigures | None
    client: ClientMetrics
    wall_s: float
    client_cpu_s: float
    errors: str
    paced_records_unsent: int = 0
    unthrottled_s: float | None = None
    unthrottled_sent_records_s: float | None = None
    sending_cpu_s: float | None = None
    unthrottled_wait_s: float | None = None
    unthrottled_client: ClientMetrics | None = None
    unthrottled_began_s: float | None = None
    settling_s: float = 0.0
    is_settled: bool = True
    machines: tuple[MachineShare, ...] = ()
    other_cpu_s_here: float = 0.0

    @property
    def cpu_s_here(self) -> float:
        """Return the CPU time that the load took on this machine."""
        return self.other_cpu_s_here if self.machines else self.client_cpu_s


class LoadTool(Protocol):
    """Execute load requests."""

    def run(self, request: LoadRequest, watch: Callable[[], None] | None = None) -> LoadResult:
        """Execute the request; `watch` is called every second, and an error it raises ends the load.

        Raises:
            LoadToolError: If the tool does not start, fails, times out, is stopped, or prints something unreadable.
        """


@dataclass(frozen=True)
class Execution:
    """Output and cost of a finished load tool process."""

    output: str
    complaint: str
    wall_s: float
    cpu_s: float


@dataclass(frozen=True)
class LoadFigures:
    """The measurements of a load tool after its warm-up; None for what the tool does not report.

    For a paced load, latencies count from the moment a record was due, else from the call of `send()`;
    `latency_from_send_p95_ms` always counts from `send()`. The CVs are of this run alone: of its latencies, and of its
    windows' throughput. `printed_mib_s` is the tool's own figure, rounded to 0.01. `unthrottled_latency_…` is that of
    the part without a fixed rate, from the call of `send()`.
    """

    throughput_records_s: Annotated[float, Shown("throughput", maximised=True)]
    latency_avg_ms: LatencyMs
    latency_max_ms: LatencyMs
    latency_p50_ms: Annotated[LatencyMs, Shown("p50 latency", maximised=False)]
    latency_p95_ms: Annotated[LatencyMs, Shown("p95 latency", maximised=False)]
    latency_p99_ms: Annotated[LatencyMs, Shown("p99 latency", maximised=False)]
    latency_p999_ms: Annotated[LatencyMs, Shown("p99.9 latency", maximised=False)]
    latency_p9999_ms: LatencyMs | None = None
    latency_from_send_p95_ms: LatencyMs | None = None
    printed_mib_s: float | None = None
    latency_cv_in_run: Annotated[float | None, Shown("latency CV", maximised=False)] = None
    throughput_cv_in_run: Annotated[float | None, Shown("throughput CV", maximised=False)] = None
    paced_rate_asked_records_s: float | None = None
    paced_rate_records_s: float | None = None
    unthrottled_latency_p50_ms: Annotated[LatencyMs | None, Shown("unthrottled p50 latency", maximised=False)] = None
    unthrottled_latency_p95_ms: LatencyMs | None = None
    unthrottled_latency_p99_ms: Annotated[LatencyMs | None, Shown("unthrottled p99 latency", maximised=False)] = None
    unthrottled_latency_p999_ms: LatencyMs | None = None


@dataclass(frozen=True)
class ClientMetrics:
    """The producer's own metrics, of the part that latencies were taken from.

    The stored size is a record's share of its batch as sent and as stored by each replica. Averages of Java's client
    cover its last 30 to 60 s, warm-up included. Retries, exhaustion and throttling count in every part except the load
    generator's warm-ups. `answer_wait_s` is the wait for the answer to each record if sends are synchronous. None: not
    reported.
    """

    queue_time_avg_ms: Annotated[float | None, Shown("time in the queue", maximised=False)] = None
    queue_time_max_ms: float | None = None
    request_latency_avg_ms: Annotated[float | None, Shown("time of a request", maximised=False)] = None
    request_latency_max_ms: float | None = None
    batch_size_avg_bytes: float | None = None
    compression_rate_avg: float | None = None
    records_per_request_avg: float | None = None
    requests_per_thousand_records: Annotated[float | None, Shown("requests", maximised=False)] = None
    stored_bytes_per_record: Annotated[float | None, Shown("stored size", maximised=False)] = None
    buffer_wait_s: float | None = None
    answer_wait_s: float | None = None
    buffer_exhausted_records: float | None = None
    record_retries: float | None = None
    produce_throttle_max_ms: float | None = None

    @property
    def kafka_wait_s(self) -> float:
        """Return the time that the sending threads waited for Kafka: for buffer space, and for answers one by one."""
        return (self.buffer_wait_s or 0.0) + (self.answer_wait_s or 0.0)


class ToolOutput(BaseModel):
    """Base of our tools' output: unknown keys and wrong types are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class LatencyUs(ToolOutput):
    """Figures of a latency histogram, in microseconds."""

    mean: Amount
    standard_deviation: Amount
    p50: Amount
    p75: Amount
    p90: Amount
    p95: Amount
    p99: Amount
    p999: Amount
    p9999: Amount
    max: Amount

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        percentiles = [self.p50, self.p75, self.p90, self.p95, self.p99, self.p999, self.p9999, self.max]
        if percentiles != sorted(percentiles):
            raise ValueError("the percentiles must not decrease")
        return self


class Outcomes(ToolOutput):
    """The outcome of the records one of our producers sent after its warm-up, as `LatencyStatistics.java` counts them.

    `sending_s` ends with the last call of `send()`, `elapsed_s` with the last answer. Latencies count from the moment a
    record was due, and from `send()`. Of `planned` records fewer are attempted if one failed or the backlog grew too
    long.
    """

    planned: Count
    attempted: Count
    acknowledged: Count
    sending_s: Amount
    elapsed_s: Amount
    latency_us: LatencyUs | None
    latency_from_send_us: LatencyUs | None
    window_ms: Annotated[int, Field(gt=0)]
    window_records: list[Count]
    failures: dict[str, Annotated[int, Field(gt=0)]]

    warmup_attempted: Count = 0
    warmup_acknowledged: Count = 0

    @model_validator(mode="after")
    def _attempts_add_up(self) -> Self:
        if self.attempted > self.planned:
            raise ValueError("attempted records must not exceed planned ones")
        attempted = self.warmup_attempted + self.attempted
        if self.warmup_acknowledged + self.acknowledged + sum(self.failures.values()) != attempted:
            raise ValueError("acknowledged and failed records must add up to those attempted")
        return self


def read_last_line(text: str, output: type[_Output], tool: str) -> _Output:
    """Parse the last line of a tool's standard output as `output`.

    Raises:
        LoadToolError: Naming the tool, if there is none, it is not such JSON, or its numbers are inconsistent.
    """
    lines = text.strip().splitlines()
    if not lines:
        raise LoadToolError(f"{tool} printed nothing")
    try:
        return output.model_validate_json(lines[-1])
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the last line"
        raise LoadToolError(
            f"the output of {tool} is unreadable: {place}: {first['msg']}; it ends with {lines[-1][-200:]!r}"
        ) from error
