"""Declare the quantities of a group of consumers, from the load tool's parser to the tables, and their costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from kafka_pareto.study.quantity import Quantities, Shown, Values, quantities_of


@dataclass(frozen=True)
class ReadingFigures:
    """The reading of a group of consumers after its warm-up.

    `poll_idle_fraction` is the share of the consumers' time in which `poll()` waited: the threads' time in `poll()`
    less their CPU time there, over the measured time of all threads. On a machine whose cores are all in use it holds
    the waiting for a core as well.
    """

    measured_s: float
    read_records_s: Annotated[float, Shown("records read", maximised=True)]
    poll_idle_fraction: Annotated[float, Shown("poll idle", maximised=True)]
    consumer_threads_cpu_s: float


@dataclass(frozen=True)
class LiveFigures:
    """The lag and latency of a group beside a producer at a fixed rate, after the warm-up.

    End-to-end latency counts from the moment a record was due to the return of the `poll()` that brought it. Lag in
    records is what was acknowledged and not read yet. Lag in seconds is how long ago that record was due that comes
    next if records are read in the order of their due times. Both are sampled every 250 ms; the slope is the
    least-squares line's through the lag in records, with its standard error. None: too little was read or sampled.

    `live_poll_idle_fraction`, `live_fetch_latency_avg_ms` and `live_records_per_fetch_avg` are those of the same names
    without `live_`: a group that reads all it can waits for other things than one that follows.
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

    Averages cover the client's last 30 to 60 s and are over all fetches, or rebalances, of all consumers. None: the
    client did not say.
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
        mode: `drain` reads what is in the topic, `live` what a producer sends meanwhile.
        group_size: Consumers, one thread each.
        records_expected: By the topic's offsets, warm-up included.
        records_read: What the consumers counted.
        records_lost: Skipped offsets; 0 unless records are missing.
        records_twice: Records that came more than once.
        rebalance_s: From the request to join until all partitions were assigned.
        read_mib_s: Keys and values read after the warm-up, by time.
        figures: None if nothing was measured.
        live: None if no producer sent beside it, or nothing was measured.
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
        reading_cores: CPU seconds of the consumers' threads in each second in which they read what the topic held.
    """

    reading_cores: Annotated[float | None, Shown("consumers' CPU", maximised=False)] = None


CONSUMER_COSTS = quantities_of(ConsumerCosts)


def ratio_in(values: Values, name: str, divisor: str) -> float | None:
    """Return the ratio of two values of a repetition; None if one is missing, or the divisor not above zero."""
    value, by = values[name], values[divisor]
    return value / by if isinstance(value, (int, float)) and isinstance(by, (int, float)) and by > 0 else None
