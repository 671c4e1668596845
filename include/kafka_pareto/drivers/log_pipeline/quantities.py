"""Quantities of a log pipeline's run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from kafka_pareto.study.quantity import Quantities, Shown, quantities_of

PipelineLabel = Literal["stable", "spiky", "throttled", "collapsing", "too_short_to_tell"]


@dataclass(frozen=True)
class LatencyFigures:
    """Time from nginx's log to Hive, over the whole run and over its steady part.

    Attributes:
        committed_events_s: Rate at which Hive took events in the steady part; capped at the logging rate.
    """

    latency_mean_ms: Annotated[float, Shown("mean latency", maximised=False)]
    latency_p50_ms: Annotated[float, Shown("p50 latency", maximised=False)]
    latency_p95_ms: Annotated[float, Shown("p95 latency", maximised=False)]
    latency_p99_ms: Annotated[float, Shown("p99 latency", maximised=False)]
    steady_latency_mean_ms: Annotated[float | None, Shown("steady mean latency", maximised=False)]
    steady_latency_p95_ms: Annotated[float | None, Shown("steady p95 latency", maximised=False)]
    committed_events_s: Annotated[float, Shown("throughput", maximised=True)]


@dataclass(frozen=True)
class StageFigures:
    """Mean and p95 of the time in each stage, over the events in Hive.

    The means add up to these events' mean latency, which is below `latency_mean_ms` if requests were in flight at the
    end.
    """

    nginx_to_filebeat_ms: Annotated[float, Shown("nginx to Filebeat", maximised=False)]
    filebeat_ms: Annotated[float, Shown("in Filebeat", maximised=False)]
    filebeat_to_aggregator_ms: Annotated[float, Shown("Filebeat to aggregator", maximised=False)]
    aggregator_ms: Annotated[float, Shown("in the aggregator", maximised=False)]
    aggregator_to_kafka_ms: Annotated[float, Shown("aggregator to Kafka", maximised=False)]
    kafka_to_spark_ms: Annotated[float, Shown("Kafka to Spark", maximised=False)]
    spark_to_hive_ms: Annotated[float, Shown("Spark to Hive", maximised=False)]
    nginx_to_filebeat_p95_ms: float
    filebeat_p95_ms: float
    filebeat_to_aggregator_p95_ms: float
    aggregator_p95_ms: float
    aggregator_to_kafka_p95_ms: float
    kafka_to_spark_p95_ms: float
    spark_to_hive_p95_ms: float


@dataclass(frozen=True)
class FlowFigures:
    """Busiest seconds, and the queue of events logged but not yet in Hive.

    Attributes:
        queue_growth_fraction: Growth over the steady part, as a share of the events logged in it.
        queue_growth_low_fraction: Its lower bound with 99 % confidence.
        queue_growth_high_fraction: Its upper bound with 97.5 % confidence.
    """

    shipped_peak_events_s: Annotated[float, Shown("peak at the shipper", maximised=False)]
    aggregated_peak_events_s: Annotated[float, Shown("peak at the aggregator", maximised=False)]
    committed_peak_events_s: Annotated[float, Shown("peak at Hive", maximised=False)]
    queue_peak_events: Annotated[float, Shown("longest queue", maximised=False)]
    queue_growth_fraction: Annotated[float | None, Shown("queue growth", maximised=False)]
    queue_growth_low_fraction: float | None
    queue_growth_high_fraction: float | None
    label: PipelineLabel


@dataclass(frozen=True)
class BurstFigures:
    """Effect of a burst.

    Attributes:
        burst_p95_ms: Of events logged during the burst.
        recovery_p95_ms: Of events logged after it.
        kafka_to_spark_max_ms: Longest time of an event between Kafka and Spark, in the burst or after it.
        other_stage_max_ms: Longest time in any other stage.
        recovery_s: From the burst's end until p95 latency stayed within 1.2 times its value before.
    """

    burst_p95_ms: Annotated[float | None, Shown("p95 latency in the burst", maximised=False)] = None
    recovery_p95_ms: Annotated[float | None, Shown("p95 latency after the burst", maximised=False)] = None
    kafka_to_spark_max_ms: Annotated[float | None, Shown("longest time from Kafka to Spark", maximised=False)] = None
    other_stage_max_ms: Annotated[float | None, Shown("longest time in another stage", maximised=False)] = None
    recovery_s: Annotated[float | None, Shown("recovery time", maximised=False)] = None


@dataclass(frozen=True)
class CostFigures:
    """Resource use from the run's first request to the last commit.

    Attributes:
        packets_s: Packets on loopback.
        packets_per_event: Per event in Hive, including the shop's packets.
        cpu_s_per_thousand_events: Of shipper, aggregator, brokers and Spark.
        filebeat_cores: CPU use in cores, as for the other parts.
        filebeat_written_kb_s: Disk writes in 1,000 bytes per second.
        filebeat_minor_faults_s: Minor page faults; the published tables call them cache hits.
        memory_mib: Peak of all these processes together.
    """

    packets_s: Annotated[float | None, Shown("packets", maximised=False)] = None
    packets_per_event: Annotated[float | None, Shown("packets per event", maximised=False)] = None
    cpu_s_per_thousand_events: Annotated[float | None, Shown("pipeline CPU", maximised=False)] = None
    nginx_cores: float | None = None
    filebeat_cores: Annotated[float | None, Shown("Filebeat CPU", maximised=False)] = None
    aggregator_cores: Annotated[float | None, Shown("aggregator CPU", maximised=False)] = None
    broker_cores: float | None = None
    spark_cores: Annotated[float | None, Shown("Spark CPU", maximised=False)] = None
    shop_cores: float | None = None
    nginx_read_kb_s: float | None = None
    nginx_written_kb_s: float | None = None
    nginx_minor_faults_s: float | None = None
    filebeat_read_kb_s: float | None = None
    filebeat_written_kb_s: float | None = None
    filebeat_minor_faults_s: float | None = None
    aggregator_read_kb_s: float | None = None
    aggregator_written_kb_s: float | None = None
    aggregator_minor_faults_s: float | None = None
    memory_mib: Annotated[float | None, Shown("memory", maximised=False)] = None


@dataclass(frozen=True)
class ResourceFigures:
    """Resources that each part holds at the end of a soak test's window; None in other studies.

    What is said of nginx applies to every part.

    Attributes:
        running_s: Time since nginx, shipper, aggregator and Spark were ready; broker and shop may be older.
        nginx_memory_mib: Resident memory of all of its processes; shared pages count in each.
        nginx_open_files: File descriptors, sockets and pipes included.
    """

    running_s: float | None = None
    nginx_memory_mib: Annotated[float | None, Shown("nginx memory", maximised=False)] = None
    nginx_open_files: Annotated[int | None, Shown("nginx open files", maximised=False)] = None
    nginx_threads: Annotated[int | None, Shown("nginx threads", maximised=False)] = None
    shop_memory_mib: Annotated[float | None, Shown("shop memory", maximised=False)] = None
    shop_open_files: Annotated[int | None, Shown("shop open files", maximised=False)] = None
    shop_threads: Annotated[int | None, Shown("shop threads", maximised=False)] = None
    filebeat_memory_mib: Annotated[float | None, Shown("Filebeat memory", maximised=False)] = None
    filebeat_open_files: Annotated[int | None, Shown("Filebeat open files", maximised=False)] = None
    filebeat_threads: Annotated[int | None, Shown("Filebeat threads", maximised=False)] = None
    aggregator_memory_mib: Annotated[float | None, Shown("aggregator memory", maximised=False)] = None
    aggregator_open_files: Annotated[int | None, Shown("aggregator open files", maximised=False)] = None
    aggregator_threads: Annotated[int | None, Shown("aggregator threads", maximised=False)] = None
    broker_memory_mib: Annotated[float | None, Shown("broker memory", maximised=False)] = None
    broker_open_files: Annotated[int | None, Shown("broker open files", maximised=False)] = None
    broker_threads: Annotated[int | None, Shown("broker threads", maximised=False)] = None
    spark_memory_mib: Annotated[float | None, Shown("Spark memory", maximised=False)] = None
    spark_open_files: Annotated[int | None, Shown("Spark open files", maximised=False)] = None
    spark_threads: Annotated[int | None, Shown("Spark threads", maximised=False)] = None


@dataclass(frozen=True)
class LogPipelineQuantities(Quantities):
    """All quantities of one run.

    Attributes:
        requests_due: Requests that the load generator had to send.
        events_committed: Logged requests that are in Hive.
        events_lost: Logged, but not in Hive when no events were in flight any more.
        events_pending: Still in flight when the wait ended; latencies include their time until then.
        events_doubled: Duplicated in Hive.
        events_unstamped: Without all timestamps; latencies exclude them.
        late_p95_ms: Delay of a request's sending.
        response_p95_ms: Time from a request's due time to its response.
        refused: Answered with a server error, or not at all.
        clock_step_ms: Largest change of the clock against the monotonic one.
        generator_bound: Why the load generator was the bottleneck; empty if it was not.
    """

    requests_due: int
    requests_logged: int | None = None
    events_committed: int | None = None
    events_lost: int | None = None
    events_pending: int | None = None
    events_doubled: int | None = None
    events_unstamped: int | None = None
    late_p95_ms: float | None = None
    late_p99_ms: float | None = None
    response_p95_ms: Annotated[float | None, Shown("shop's p95 response time", maximised=False)] = None
    refused: int | None = None
    clock_step_ms: float | None = None
    latency: LatencyFigures | None = None
    stages: StageFigures | None = None
    flow: FlowFigures | None = None
    burst: BurstFigures = BurstFigures()
    cost: CostFigures = CostFigures()
    resources: ResourceFigures = ResourceFigures()
    generator_bound: str = ""


LOG_PIPELINE_QUANTITIES = quantities_of(LogPipelineQuantities)
