"""Declares the quantities of the driver `producer`: each once, from the load tools' parsers to the tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

from kafka_pareto.study.load_counters import LoadCounters
from kafka_pareto.study.producer_protocol import ProducerProtocol
from kafka_pareto.study.quantity import Quantities, Resolution, Shown, quantities_of

LatencyMs: TypeAlias = Annotated[float, Resolution(ProducerProtocol.latency_resolution_ms)]


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


@dataclass(frozen=True)
class ProducerQuantities(Quantities):
    """Holds all quantities of one repetition of a producer.

    Attributes:
        window: What the figures are of.
        throughput_mib_s: From the records per second.
        figures: None where nothing was measured.
        generator_bound: Why the load tool rather than Kafka set the pace; empty when it did not.
        counters: What was counted of machine, brokers and client while the load ran.
        limited_by: The resource that limited the load, as a code of `bottleneck.verdict`; empty where none was found,
            None where nobody looked.
    """

    window: Literal["whole_run", "steady_state"]
    records_requested: int
    records_sent: int | None = None
    end_offset_growth: int | None = None
    throughput_mib_s: Annotated[float | None, Shown("throughput", maximised=True)] = None
    figures: LoadFigures | None = None
    client: ClientMetrics = ClientMetrics()
    generator_bound: str = ""
    counters: LoadCounters = field(default_factory=LoadCounters)
    limited_by: str | None = None


PRODUCER_QUANTITIES = quantities_of(ProducerQuantities)
