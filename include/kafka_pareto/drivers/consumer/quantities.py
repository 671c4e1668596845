"""Declare the quantities of a group of consumers, from the load generator's parser to the tables, and their costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from kafka_pareto.study.quantity import Quantities, Shown, Values, quantities_of


@dataclass(frozen=True)
class ReadingFigures:
    """The reading of a group of consumers after its warm-up.

    `poll_idle_fraction` is the share of the consumers' time in which `poll()` waited: the threads' time in `poll()`
    less their CPU time there, over the measured time of all threads. If all cores are busy, it includes waiting for a
    core.
    """

    measured_s: float
    read_records_s: Annotated[float, Shown("records read", maximised=True)]
    poll_idle_fraction: Annotated[float, Shown("poll idle", maximised=True)]
    consumer_threads_cpu_s: float


@dataclass(frozen=True)
class LiveFigures:
    """The lag and latency of a group that follows a producer at a fixed rate, after the warm-up.

    End-to-end latency runs from a record's due time to the return of the `poll()` that delivered it. Lag in records is
    the number acknowledged and not yet read. Lag in seconds is the age of the next unread record, by due time. Both are
    sampled every 250 ms. The slope is that of the least-squares line through the lag in records, with its standard
    error. None: too few records or samples.

    `live_poll_idle_fraction`, `live_fetch_latency_avg_ms` and `live_records_per_fetch_avg` correspond to the quantities
    without `live_`. They are kept apart because an unthrottled group waits for other things than a following one.
    """

    live_rate_asked_records_s: float
    live_rate_records_s: float
    live_records_unread: int
    end_to_end_latency_p50_ms: float | None = None
    end_to_end_latency_p95_ms: Annotated[float | None, Shown("end-to-end p95 latency", maximised=False)] = None
    end_to_end_latency_p99_ms: float | None = None
    lag_avg_records: float | None = None
    lag_max_records: float | None = None
    lag_avg_s: Annotated[float | None, Shown("lag", maximised=False)] = None
    lag_max_s: float | None = None
    lag_slope_records_s: Annotated[float | None, Shown("slope of lag", maximised=False)] = None
    lag_slope_error_records_s: float | None = None
    live_poll_idle_fraction: float | None = None
    live_fetch_latency_avg_ms: Annotated[float | None, Shown("fetch latency while following", maximised=False)] = None
    live_records_per_fetch_avg: float | None = None


@dataclass(frozen=True)
class FetchMetrics:
    """The consumers' own metrics (groups `consumer-fetch-manager-metrics` and `consumer-coordinator-metrics`).

    Averages cover the client's last 30 to 60 s and all fetches, or rebalances, of all consumers. None: not reported.
    """

    fetch_latency_avg_ms: Annotated[float | None, Shown("fetch latency", maximised=False)] = None
    fetch_latency_max_ms: float | None = None
    fetch_size_avg_bytes: float | None = None
    records_per_fetch_avg: float | None = None
    fetch_throttle_max_ms: float | None = None
    rebalance_latency_avg_ms: float | None = None


@dataclass(frozen=True)
class ConsumerQuantities(Quantities):
    """All quantities of one repetition of a group of consumers.

    Attributes:
        mode: `drain` reads the topic's existing records, `live` those a producer sends meanwhile.
        group_size: Consumers, one thread each.
        records_expected: By the topic's offsets, warm-up included.
        records_read: By the consumers' count.
        records_lost: Skipped offsets; 0 unless records are missing.
        records_twice: Records delivered more than once.
        rebalance_s: From the request to join until all partitions were assigned.
        read_mib_s: Keys and values read per second after the warm-up.
        figures: None if nothing was measured.
        live: None without a live part, or if nothing was measured.
    """

    mode: Literal["drain", "live"]
    group_size: int
    records_expected: int | None = None
    records_read: int | None = None
    records_lost: int | None = None
    records_twice: int | None = None
    rebalance_s: Annotated[float | None, Shown("rebalance", maximised=False)] = None
    read_mib_s: Annotated[float | None, Shown("read", maximised=True)] = None
    figures: ReadingFigures | None = None
    live: LiveFigures | None = None
    client: FetchMetrics = FetchMetrics()


CONSUMER_QUANTITIES = quantities_of(ConsumerQuantities)


@dataclass(frozen=True)
class ConsumerCosts:
    """Derived from a repetition's values; None if one of them is missing.

    Attributes:
        reading_cores: CPU seconds of the consumers' threads per second of draining the topic.
    """

    reading_cores: Annotated[float | None, Shown("consumers' CPU", maximised=False)] = None


CONSUMER_COSTS = quantities_of(ConsumerCosts)


def ratio_in(values: Values, name: str, divisor: str) -> float | None:
    """Return the ratio of two values of a repetition; None if one is missing, or the divisor is not above zero."""
    value, by = values[name], values[divisor]
    return value / by if isinstance(value, (int, float)) and isinstance(by, (int, float)) and by > 0 else None
