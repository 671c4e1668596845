"""Read a broker's metrics before and after a load, from monotonic counters.

Kafka's idle percentages do not fit loads of a few seconds: `NetworkProcessorAvgIdlePercent` and the one-minute rate of
`RequestHandlerAvgIdlePercent` cover 30 to 60 seconds, and the first reads 0.17 on an idle broker ten seconds after its
start. In a combined node, `RequestHandlerAvgIdlePercent` includes the controller's threads, which hides busy ones
(KIP-1207). The underlying counters have neither problem. Pauses come from the JVM's garbage collection log (JEP 271).
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from kafka_pareto.brokers.jmx import JmxAgent
from kafka_pareto.shipped import INCLUDE

BROKER_METRICS = INCLUDE / "kafka" / "load-metrics.yaml"
"""Names the beans that the JMX agents must read (`Brokers(…, jmx_configuration=BROKER_METRICS)`)."""

_NETWORK_WAIT = re.compile(r'kafka_network_processor_wait_ns\{.*listener="(?!CONTROLLER")')
_HANDLER_IDLE = "kafka_request_handler_idle_ns"
_QUEUED, _FLUSHED = "kafka_produce_queue_ms", "kafka_log_flush_ms"
_NS_PER_S = 1e9
_MS_PER_S = 1000.0
# A line with only the tag gc has the whole pause; lines of its phases have further tags.
_PAUSE = re.compile(r"^\[([^\]]+)\].*\[gc *\] GC\(\d+\) Pause .* (\d+(?:\.\d+)?)ms$", re.MULTILINE)


@dataclass(frozen=True)
class BrokerReading:
    """A broker's metrics at a time of the monotonic clock."""

    at_s: float
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class BrokerUse:
    """The work of a broker's threads between two readings, named as in `LoadCounters`."""

    network_idle_fraction: float | None
    request_handler_idle_fraction: float | None
    request_queue_requests: float | None
    request_queue_time_ms: float | None
    log_flush_s: float | None
    log_flushes_per_s: float | None


def read_broker(agent: JmxAgent) -> BrokerReading:
    """Read the broker's metrics; this costs the broker up to 0.1 s of CPU time.

    Raises:
        ClusterError: If the agent does not answer.
    """
    metrics = agent.read()  # before the clock, since the agent reads the beans at the end of the request
    return BrokerReading(time.monotonic(), metrics)


def broker_use(before: BrokerReading, after: BrokerReading) -> BrokerUse:
    """Return the work between two readings; None for metrics the agent does not read."""
    seconds = after.at_s - before.at_s

    def growth(name: str) -> float | None:
        if name not in after.metrics:
            return None
        return after.metrics[name] - before.metrics.get(name, 0.0)

    waits_ns = [growth(name) for name in after.metrics if _NETWORK_WAIT.match(name)]
    handler_idle_ns = growth(_HANDLER_IDLE)
    queued, queued_ms = growth(f"{_QUEUED}_count"), growth_of_sum(before, after, _QUEUED)
    flushed, flushed_ms = growth(f"{_FLUSHED}_count"), growth_of_sum(before, after, _FLUSHED)
    return BrokerUse(
        network_idle_fraction=min((_share(each, seconds) for each in waits_ns if each is not None), default=None),
        request_handler_idle_fraction=None if handler_idle_ns is None else _share(handler_idle_ns, seconds),
        request_queue_requests=None if queued_ms is None else queued_ms / _MS_PER_S / seconds,
        request_queue_time_ms=queued_ms / queued if queued and queued_ms is not None else None,
        log_flush_s=None if flushed_ms is None else flushed_ms / _MS_PER_S / seconds,
        log_flushes_per_s=None if flushed is None else flushed / seconds,
    )


def _share(nanoseconds: float, seconds: float) -> float:
    return min(max(nanoseconds / _NS_PER_S / seconds, 0.0), 1.0)


def growth_of_sum(before: BrokerReading, after: BrokerReading, histogram: str) -> float | None:
    """Return the growth of the sum behind a Yammer histogram's mean."""
    count, mean = f"{histogram}_count", f"{histogram}_mean"
    if count not in after.metrics or mean not in after.metrics:
        return None
    sums = [each.metrics.get(count, 0.0) * each.metrics.get(mean, 0.0) for each in (before, after)]
    return max(sums[1] - sums[0], 0.0)


@dataclass(frozen=True)
class Pause:
    """One pause: its end, in seconds since the epoch, and its length."""

    ended_at_s: float
    duration_ms: float


def pauses_in(text: str) -> list[Pause]:
    """List the pauses in a log whose lines begin with the time (decorator `time`)."""
    return [Pause(datetime.fromisoformat(ended).timestamp(), float(ms)) for ended, ms in _PAUSE.findall(text)]


def ends_of(logs: Sequence[Path]) -> dict[Path, int]:
    """Return the current length of each log, in bytes."""
    return {log: log.stat().st_size for log in logs if log.exists()}


def pauses_since(ends: Mapping[Path, int], logs: Sequence[Path]) -> list[Pause]:
    """List the pauses logged since `ends_of`; new logs are read from the start."""
    found = []
    for log in logs:
        with log.open("rb") as file:
            file.seek(ends.get(log, 0))
            found += pauses_in(file.read().decode(errors="replace"))
    return found
