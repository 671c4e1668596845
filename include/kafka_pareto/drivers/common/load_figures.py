"""Declares what a load tool measures of what it sent, whichever tool it was and whatever for."""

from __future__ import annotations

from dataclasses import dataclass
from operator import methodcaller
from typing import Annotated, TypeAlias

from kafka_pareto.study.quantity import Resolution, Shown

LatencyMs: TypeAlias = Annotated[float, Resolution(methodcaller("latency_resolution_ms"))]


@dataclass(frozen=True)
class LoadFigures:
    """Holds what a load tool measured after its warm-up. None: the tool does not say.

    Where the load generator paced the load, latencies count from the moment a record was due; else from the call of
    `send()`. `latency_from_send_p95_ms` counts from `send()` in both cases. The CVs are of this run alone: of its
    latencies, and of the throughput of its windows. `printed_mib_s` is the tool's own figure, rounded to 0.01. Of a
    load with both parts, `unthrottled_latency_…` is that of the part without a fixed rate, from the call of `send()`.
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
    """Holds the producer's own metrics (group `producer-metrics`), of the part that latencies were taken from.

    Averages cover the client's last 30 to 60 s, warm-up included. Retries, exhaustion and throttling count in every
    part; the load generator leaves its warm-ups out of these counts. None: the client did not say.
    """

    queue_time_avg_ms: Annotated[float | None, Shown("time in the queue", maximised=False)] = None
    queue_time_max_ms: float | None = None
    request_latency_avg_ms: Annotated[float | None, Shown("time of a request", maximised=False)] = None
    request_latency_max_ms: float | None = None
    batch_size_avg_bytes: float | None = None
    compression_rate_avg: float | None = None
    records_per_request_avg: float | None = None
    buffer_wait_s: float | None = None
    buffer_exhausted_records: float | None = None
    record_retries: float | None = None
    produce_throttle_max_ms: float | None = None
