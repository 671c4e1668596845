"""Run the project's own consumers, `io.kafkapareto.ConsumerLoad`: a group that reads one topic, one thread each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kafka_pareto.drivers.common.jvm_process import LoadProcess
from kafka_pareto.drivers.common.load_tool import Execution, read_last_line
from kafka_pareto.drivers.consumer.output import ConsumerOutput, LagSample, lag_trend
from kafka_pareto.drivers.consumer.quantities import ConsumerQuantities, FetchMetrics, LiveFigures, ReadingFigures
from kafka_pareto.kafka.consumer_properties import resolved
from kafka_pareto.kafka.known_properties import DEFAULTS as PRODUCER_DEFAULTS
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.settings import Settings

MAIN_CLASS = "io.kafkapareto.ConsumerLoad"

_MIB = 1 << 20
_US_PER_MS = 1_000
# One fetch in flight from each of three brokers, plus the one being read.
_FETCHES_HELD = 4


@dataclass(frozen=True)
class LiveLoad:
    """A producer in the same process that sends random letters at a fixed rate while the group reads.

    It sends during the group's warm-up and for `seconds`. The group then has `unread_s` to read the remaining records.
    """

    record_size_bytes: int
    rate_records_s: float
    seconds: float
    properties: Mapping[str, PropertyValue] = field(default_factory=dict)
    unread_s: float = 5.0


@dataclass(frozen=True)
class ConsumerRequest:
    """One execution: which group reads which topic, and with which consumer properties.

    Without `live`, the group reads the topic's existing records. The group id must be new, because offsets committed
    under it are ignored. No consumer reads before the group is complete. Completing the group and reaching the end may
    take `read_timeout_s` each.
    `poll_pause_ms` follows each poll that returned records and simulates processing.
    """

    topic: str
    group: str
    properties: Mapping[str, PropertyValue]
    timeout_s: float
    consumers: int = 1
    warmup_s: float = 0.0
    read_timeout_s: float = 60.0
    poll_pause_ms: float = 0.0
    live: LiveLoad | None = None
    timeout_key: str = "protocol.timeout_s"

    @property
    def client_properties(self) -> Mapping[str, Mapping[str, PropertyValue]]:
        """Return the properties of the consumers, and of the producer beside them."""
        producer = {} if self.live is None else {"--producer-config": self.live.properties}
        return {"--command-config": self.properties, **producer}

    @property
    def heap_mib(self) -> int:
        """Return the heap that the clients need, in MiB."""
        fetch_mib = int(resolved(self.properties)["fetch.max.bytes"]) // _MIB
        producer = {**PRODUCER_DEFAULTS, **(self.live.properties if self.live else {"buffer.memory": 0})}
        return 192 + self.consumers * _FETCHES_HELD * fetch_mib + 2 * int(producer["buffer.memory"]) // _MIB


@dataclass(frozen=True)
class ConsumerResult:
    """The outcome and cost of one execution.

    `bytes_read` counts keys and values, warm-up included. `records_unread` were in the topic when the tool ended.
    `assignments_changed` counts moves of partitions after the group was complete; each may cause duplicate reads.
    `errors` is the tool's first error message.
    """

    quantities: ConsumerQuantities
    bytes_read: int
    records_unread: int
    assignments_changed: int
    lag_samples: tuple[LagSample, ...]
    wall_s: float
    client_cpu_s: float
    errors: str


class ConsumerLoad:
    """Run groups of consumers, each in a JVM of its own."""

    def __init__(self, bootstrap_servers: str, client_config: Path | None, settings: Settings) -> None:
        self._process = LoadProcess(bootstrap_servers, client_config, settings)

    def run(self, request: ConsumerRequest, watch: Callable[[], None] | None = None) -> ConsumerResult:
        """Execute the request; `watch` is called every second; an error it raises ends the run.

        Raises:
            LoadToolError: If the tool does not start, fails, times out, or prints inconsistent output. Unread records
                are not an error: the result reports them.
        """
        return self._process.run(
            MAIN_CLASS,
            consumer_options(request),
            request,
            watch,
            lambda ended: consumer_result(ended, request),
        )


def consumer_options(request: ConsumerRequest) -> list[str]:
    """List the tool's own options, without its files of properties."""
    live = request.live
    options = ["--mode", "drain" if live is None else "live", "--topic", request.topic, "--group", request.group]
    options += ["--consumers", str(request.consumers), "--warmup-seconds", str(request.warmup_s)]
    options += ["--timeout-seconds", str(request.read_timeout_s), "--poll-pause-ms", str(request.poll_pause_ms)]
    if live is not None:
        options += ["--record-size", str(live.record_size_bytes), "--rate", str(live.rate_records_s)]
        options += ["--seconds", str(live.seconds), "--unread-seconds", str(live.unread_s)]
    return options


def consumer_result(ended: Execution, request: ConsumerRequest) -> ConsumerResult:
    """Parse the tool's last line of output.

    Raises:
        LoadToolError: If it is not the tool's JSON, or its numbers are inconsistent.
    """
    output = read_last_line(ended.output, ConsumerOutput, "the consumer load generator")
    failure = output.first_failure()
    is_measured = not failure and output.measured_s > 0 and output.measured_records > 0
    if not (failure or is_measured):
        warmup = f"the warm-up of {request.warmup_s:g} s"
        failure = f"all records were read before {warmup} was over"
        if request.live is not None:
            failure = f"no record arrived in the {request.live.seconds:g} s after {warmup}"
    client = _client(output.client_metrics)
    figures = _figures(output) if is_measured else None
    quantities = ConsumerQuantities(
        mode=output.mode,
        group_size=output.consumers,
        records_expected=sum(each.end - each.begin for each in output.partitions),
        records_read=output.records,
        records_lost=sum(each.lost for each in output.partitions),
        records_twice=sum(each.twice for each in output.partitions),
        rebalance_s=output.rebalance_s,
        read_mib_s=output.measured_bytes / output.measured_s / _MIB if is_measured else None,
        figures=figures,
        live=_live_figures(output, request.live, figures, client) if figures and request.live else None,
        client=client,
    )
    return ConsumerResult(
        quantities=quantities,
        bytes_read=output.bytes,
        records_unread=output.records_unread,
        assignments_changed=output.assignments_changed,
        lag_samples=tuple(output.lag_samples or ()),
        wall_s=ended.wall_s,
        client_cpu_s=ended.cpu_s,
        errors=failure or ended.complaint,
    )


def _figures(output: ConsumerOutput) -> ReadingFigures:
    return ReadingFigures(
        measured_s=output.measured_s,
        read_records_s=output.measured_records / output.measured_s,
        poll_idle_fraction=min(output.poll_wait_s / (output.consumers * output.measured_s), 1.0),
        consumer_threads_cpu_s=output.threads_cpu_s,
    )


def _live_figures(
    output: ConsumerOutput, live: LiveLoad, figures: ReadingFigures, client: FetchMetrics
) -> LiveFigures | None:
    sent, latency, samples = output.sent, output.latency_us, output.lag_samples or []
    if sent is None or not sent.elapsed_s:
        return None
    trend = lag_trend(samples)
    lags, lags_s = [float(each.lag_records) for each in samples], [each.lag_s for each in samples]
    return LiveFigures(
        live_rate_asked_records_s=live.rate_records_s,
        live_rate_records_s=sent.acknowledged / sent.elapsed_s,
        live_records_unread=output.records_unread,
        end_to_end_latency_p50_ms=latency.p50 / _US_PER_MS if latency else None,
        end_to_end_latency_p95_ms=latency.p95 / _US_PER_MS if latency else None,
        end_to_end_latency_p99_ms=latency.p99 / _US_PER_MS if latency else None,
        lag_avg_records=sum(lags) / len(lags) if lags else None,
        lag_max_records=max(lags, default=None),
        lag_avg_s=sum(lags_s) / len(lags_s) if lags_s else None,
        lag_max_s=max(lags_s, default=None),
        lag_slope_records_s=trend.slope if trend else None,
        lag_slope_error_records_s=trend.error if trend else None,
        live_poll_idle_fraction=figures.poll_idle_fraction,
        live_fetch_latency_avg_ms=client.fetch_latency_avg_ms,
        live_records_per_fetch_avg=client.records_per_fetch_avg,
    )


def _client(found: Mapping[str, float]) -> FetchMetrics:
    return FetchMetrics(
        fetch_latency_avg_ms=found.get("fetch-latency-avg"),
        fetch_latency_max_ms=found.get("fetch-latency-max"),
        fetch_size_avg_bytes=found.get("fetch-size-avg"),
        records_per_fetch_avg=found.get("records-per-request-avg"),
        fetch_throttle_max_ms=found.get("fetch-throttle-time-max"),
        rebalance_latency_avg_ms=found.get("rebalance-latency-avg"),
    )
