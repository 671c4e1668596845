"""Defines what a load is asked to do and what it answers, for every load tool."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kafka_pareto.campaign.records import TimedLoad
from kafka_pareto.drivers.common.load_figures import ClientMetrics, LoadFigures
from kafka_pareto.kafka.known_properties import DEFAULTS, PropertyValue
from kafka_pareto.study.workload import MadePayload

_MIB = 1 << 20


@dataclass(frozen=True)
class LoadRequest:
    """Describes one execution: what to send where, how fast, and with which producer properties.

    Kafka's tool sends `records`, which include the `warmup_records`; the load generator does what `timed` says.
    `throughput_records_s` bounds either; None means as fast as possible. Without a `payload_file` (one record per line)
    the tool makes the values, as `made_payload` says. Several `producers` of the load generator have a sending thread
    each, and share all rates.
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

    @property
    def client_properties(self) -> Mapping[str, Mapping[str, PropertyValue]]:
        """Returns the producer's properties by the option of either tool that names their file."""
        return {"--command-config": self.properties}

    @property
    def heap_mib(self) -> int:
        """Returns the heap that the producers need, in MiB."""
        buffer_mib = int(self.properties.get("buffer.memory", DEFAULTS["buffer.memory"])) // _MIB
        return 192 + 2 * self.producers * buffer_mib


def client_metrics(found: Mapping[str, float]) -> ClientMetrics:
    """Reads the client's metrics by Kafka's own names, of group `producer-metrics`; NaN and infinity become None."""

    def value(name: str, unit: float = 1.0) -> float | None:
        number = found.get(name)
        return number * unit if number is not None and math.isfinite(number) else None

    return ClientMetrics(
        queue_time_avg_ms=value("record-queue-time-avg"),
        queue_time_max_ms=value("record-queue-time-max"),
        request_latency_avg_ms=value("request-latency-avg"),
        request_latency_max_ms=value("request-latency-max"),
        batch_size_avg_bytes=value("batch-size-avg"),
        compression_rate_avg=value("compression-rate-avg"),
        records_per_request_avg=value("records-per-request-avg"),
        buffer_wait_s=value("bufferpool-wait-time-ns-total", 1e-9),
        buffer_exhausted_records=value("buffer-exhausted-total"),
        record_retries=value("record-retry-total"),
        produce_throttle_max_ms=value("produce-throttle-time-max"),
    )


@dataclass(frozen=True)
class LoadResult:
    """Holds what came of one execution, and what its process cost.

    `records_attempted` and `records_sent` count everything, warm-up included; sent are those that the producer reported
    as done. `figures` is None when nothing was measured, as when every send failed. `paced_records_unsent` were due at
    the fixed rate when the tool gave up on a growing backlog: latencies were then still rising.

    Six values describe the unthrottled part after its warm-up. `unthrottled_began_s` is when it began, in seconds since
    the load did, and `unthrottled_s` how long it took. `sending_cpu_s`
    is the CPU time of the sending thread. `unthrottled_sent_records_s` is its pace. `unthrottled_wait_s` is how long it
    waited for Kafka: for buffer space, and at the end for records without an answer yet (None: not known). Of several
    producers, CPU time, pace and waits are those of all threads together. `unthrottled_client`
    are the client's metrics of that part alone; `client` has its averages from the last part.

    Between the parts the tool waited `settling_s` for the machine to write what brokers on it had left to be written.
    Where that took too long, it is not `is_settled`, and went on during the paced part.

    `errors` is the first complaint of the tool.
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


class LoadTool(Protocol):
    """Executes load requests."""

    def run(self, request: LoadRequest, watch: Callable[[], None] | None = None) -> LoadResult:
        """Executes the request; `watch` is called every second, and an error that it raises ends the load.

        Raises:
            LoadToolError: If it does not start, ends with an error, runs out of time, is stopped, or prints
                something that cannot be read.
        """


@dataclass(frozen=True)
class Execution:
    """Holds what an ended process of a load tool left: its output and its cost."""

    output: str
    complaint: str
    wall_s: float
    cpu_s: float
