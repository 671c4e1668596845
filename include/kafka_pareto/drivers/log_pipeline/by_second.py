"""Counts a run's events second by second, and says what each second was like. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from kafka_pareto.analysis.rounding import Values
from kafka_pareto.campaign.records import Timeline
from kafka_pareto.drivers.log_pipeline.shoppers.wanted import Wanted
from kafka_pareto.drivers.log_pipeline.stages import STAGES, Reconciled, latencies_ms, left_of_before

_S = 1000
"""Milliseconds in a second."""


def per_second(stamps_ms: pd.Series, began_ms: int, seconds: int) -> Values:
    """Counts the stamps in each of so many seconds."""
    second = ((stamps_ms - began_ms) // _S).to_numpy()
    within = second[(second >= 0) & (second < seconds)]
    return np.bincount(within, minlength=seconds).astype(float)


def queue_of(arrivals: pd.DataFrame, began_ms: int, seconds: int) -> Values:
    """Returns how many were logged and not yet in Hive, at the end of each second; those of before included."""
    left = left_of_before(arrivals, began_ms)
    return left + np.cumsum(per_second(arrivals.t0, began_ms, seconds) - per_second(arrivals.t7, began_ms, seconds))


def part_of_burst(stamps_ms: pd.Series, began_ms: int, wanted: Wanted) -> pd.Series:
    """Says of each stamp whether it is `before` the burst, `in` it or `after` it.

    All that is said of a burst is by this one clock: seconds since the load's first one, by which it also tells when
    requests are due faster. A request has its place by when it was logged.
    """
    at_s = (stamps_ms - began_ms) / _S
    edges = [-np.inf, wanted.burst_from_s, wanted.burst_until_s, np.inf]
    return pd.cut(at_s, edges, right=False, labels=["before", "in", "after"])


def p95_by_second(arrivals: pd.DataFrame, began_ms: int, seconds: int) -> list[tuple[int, float | None]]:
    """Returns for what was logged in each second its number and its p95 latency in milliseconds."""
    second = (arrivals.t0 - began_ms).floordiv(_S)
    grouped = latencies_ms(arrivals).groupby(second)
    p95, counts = grouped.quantile(0.95), grouped.size()
    return [(int(counts.get(at, 0)), float(p95[at]) if at in p95.index else None) for at in range(seconds)]


def timeline_of_run(reconciled: Reconciled, wanted: Wanted, began_ms: int) -> Timeline:
    """Returns what each second of a run was like.

    The series are the mean time in each stage of what was logged in a second, what passed web server, shipper and
    aggregator in it, and the queue at its end.

    Args:
        reconciled: What was logged before the run included; it is in the queue, and in what passed.
        wanted: What was asked of the load.
        began_ms: When the run began.
    """
    seconds, events, arrivals = int(wanted.seconds), reconciled.events, reconciled.arrivals
    means = events[list(STAGES)].groupby((events.t0 - began_ms).floordiv(_S)).mean().reindex(range(seconds))
    passed = {
        "logged_events_s": arrivals.t0,
        "shipped_events_s": events.t2,
        "aggregated_events_s": events.t4,
    }
    return Timeline(
        what="burst" if wanted.burst_until_s else "",
        began_s=wanted.burst_from_s,
        ended_s=wanted.burst_until_s,
        done=[int(number) for number in per_second(events.t7, began_ms, seconds)],
        latency_p95_ms=[p95_ms for _, p95_ms in p95_by_second(arrivals, began_ms, seconds)],
        series={
            **{f"{name}_ms": _rounded(means[name]) for name in STAGES},
            **{name: _rounded(per_second(stamps, began_ms, seconds)) for name, stamps in passed.items()},
            "queue_events": _rounded(queue_of(arrivals, began_ms, seconds)),
        },
    )


def _rounded(values: Iterable[float]) -> list[float | None]:
    """Returns values to a tenth, which is below what stamps of whole milliseconds say; None where there is none."""
    return [None if np.isnan(value) else round(float(value), 1) for value in values]
