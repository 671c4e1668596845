"""Count a run's events per second and label the run: collapsing, throttled, spiky or stable."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kafka_pareto.analysis.rounding import Values
from kafka_pareto.analysis.student import student_critical
from kafka_pareto.campaign.records import Timeline
from kafka_pareto.drivers.common.trend import LEAST_POINTS, trend_of
from kafka_pareto.drivers.log_pipeline.quantities import PipelineLabel
from kafka_pareto.drivers.log_pipeline.shoppers.wanted import Wanted
from kafka_pareto.drivers.log_pipeline.stages import STAGES, Reconciled, backlog_at, latencies_ms

LEAST_STEADY_S = 20
GROWTH_FRACTION = 0.02
BOUND_FRACTION = 0.05
UNTAKEN_FRACTION = 0.02
_SPIKE_TIMES = 5.0
_GROWS_ABOVE = 0.01
_BOUND_ABOVE = 0.025
_S = 1000


@dataclass(frozen=True)
class Growth:
    """Growth of the queue over the steady part, as a share of the events logged in it.

    Attributes:
        fraction: Slope of the queue over the logging rate.
        low: Lower bound with 99 % confidence.
        high: Upper bound with 97.5 % confidence.
    """

    fraction: float
    low: float
    high: float


def rate_of_commits(events: pd.DataFrame, from_ms: int, until_ms: int) -> float | None:
    """Return Hive's commit rate in an interval; None without a commit after the interval's start.

    Batches straddle the interval's ends, so the rate covers the time from the first commit to the last. If the pause
    after the last commit exceeds the longest one between two commits, the excess counts, too. With fewer than two
    commits in the interval, it extends to the second one.
    """
    times = events.t7[events.t7 > from_ms]
    commits = np.unique(times)
    within = commits[commits < until_ms]
    ends = within if len(within) > 1 else commits[:2]
    if not len(ends):
        return None
    first, last = (ends[0], ends[-1]) if len(ends) > 1 else (from_ms, ends[0])
    counted = ((times > first) & (times <= last)).sum()
    if len(within) > 1:
        last = max(last, until_ms - np.diff(within).max())
    return float(counted * _S / (last - first))


def growth_of(timeline: Timeline, steady_from_s: int) -> Growth | None:
    """Return the growth of the queue over the steady part of a run.

    The queue is sampled at commits, since it only rises between them. If the pause after the last commit exceeds the
    longest one between two commits, each further second is sampled, too. With fewer than two commits, sampling starts
    when the pause exceeds `steady_from_s`, in which a pipeline that keeps up has committed. The error is that of
    `trend_of`, but at least the counting error: arrivals and completions are random, so the queue of a pipeline that
    just keeps up is a random walk, whose growth has a variance of twice the arrivals.

    Returns:
        None if data are insufficient: a steady part below `LEAST_STEADY_S`, or fewer than `LEAST_POINTS` seconds with a
        commit.
    """
    seconds = np.arange(len(timeline.done))
    committed = np.flatnonzero(timeline.done)
    longest_s = np.diff(committed).max() if len(committed) > 1 else steady_from_s
    overdue_from_s = longest_s + (committed[-1] if len(committed) else 0)
    looked_at = (np.isin(seconds, committed) | (seconds > overdue_from_s)) & (seconds >= steady_from_s)
    logged = float(np.sum(_series(timeline, "logged_events_s")[steady_from_s:]))
    steady_s = len(seconds) - steady_from_s
    if steady_s < LEAST_STEADY_S or looked_at.sum() < LEAST_POINTS or not logged:
        return None
    trend = trend_of(seconds[looked_at].astype(float), _series(timeline, "queue_events")[looked_at])
    fraction = trend.slope * steady_s / logged
    error = max(trend.error * steady_s / logged, float(np.sqrt(2 / logged)))
    return Growth(
        fraction,
        fraction - error * float(student_critical(_GROWS_ABOVE, trend.freedom)),
        fraction + error * float(student_critical(_BOUND_ABOVE, trend.freedom)),
    )


def label_of(timeline: Timeline, steady_from_s: int, untaken_fraction: float) -> PipelineLabel:
    """Label a run by the first rule that holds.

    - too_short_to_tell: `growth_of` returns None.
    - collapsing: the queue grows (above zero with 99 % confidence) by more than `GROWTH_FRACTION` of the events logged.
      Requests sent late are not growth.
    - too_short_to_tell: growth by `BOUND_FRACTION` or more, as at 105 % load, cannot be excluded.
    - throttled: the queue is bounded, but more than `UNTAKEN_FRACTION` of the requests due were rejected or lost.
    - spiky: in the steady part the busiest second of shipper or aggregator exceeds five times the mean, or that of Hive
      five times the mean of seconds with a commit.
    - stable.

    `untaken_fraction` is the share of the requests due that the web server rejected or that were lost.
    """
    growth = growth_of(timeline, steady_from_s)
    if growth is None:
        return "too_short_to_tell"
    if growth.low > 0 and growth.fraction > GROWTH_FRACTION:
        return "collapsing"
    if growth.high >= BOUND_FRACTION:
        return "too_short_to_tell"
    if untaken_fraction > UNTAKEN_FRACTION:
        return "throttled"
    return "spiky" if max(spikes(timeline, steady_from_s).values()) > _SPIKE_TIMES else "stable"


def label_text(label: PipelineLabel) -> str:
    """Return the label in words; empty for a stable run."""
    if label == "too_short_to_tell":
        return "the run was too short to tell whether the queue grows"
    return "" if label == "stable" else f"the run was {label}"


def spikes(timeline: Timeline, steady_from_s: int) -> dict[str, float]:
    """Return the busiest second of shipper, aggregator and Hive over the mean (for Hive, of seconds with a commit)."""
    done = np.asarray(timeline.done, dtype=float)[steady_from_s:]
    found = {
        "shipper": _series(timeline, "shipped_events_s")[steady_from_s:],
        "aggregator": _series(timeline, "aggregated_events_s")[steady_from_s:],
        "hive": done[done > 0],
    }
    return {name: float(counts.max() / counts.mean()) if counts.any() else 0.0 for name, counts in found.items()}


def _series(timeline: Timeline, name: str) -> Values:
    return np.asarray(timeline.series[name], dtype=float)


def per_second(stamps_ms: pd.Series, began_ms: int, seconds: int) -> Values:
    """Count the timestamps in each second."""
    second = ((stamps_ms - began_ms) // _S).to_numpy()
    within = second[(second >= 0) & (second < seconds)]
    return np.bincount(within, minlength=seconds).astype(float)


def queue_of(arrivals: pd.DataFrame, began_ms: int, seconds: int) -> Values:
    """Return the number of events logged but not yet in Hive at the end of each second, warm-up included."""
    left = backlog_at(arrivals, began_ms)
    return left + np.cumsum(per_second(arrivals.t0, began_ms, seconds) - per_second(arrivals.t7, began_ms, seconds))


def part_of_burst(stamps_ms: pd.Series, began_ms: int, wanted: Wanted) -> pd.Series:
    """Return for each timestamp whether it is `before` the burst, `in` it or `after` it.

    All figures of a burst use this clock, in seconds since the load began, which also times the burst itself. A request
    counts by its log time.
    """
    at_s = (stamps_ms - began_ms) / _S
    edges = [-np.inf, wanted.burst_from_s, wanted.burst_until_s, np.inf]
    return pd.cut(at_s, edges, right=False, labels=["before", "in", "after"])


def p95_by_second(arrivals: pd.DataFrame, began_ms: int, seconds: int) -> list[tuple[int, float | None]]:
    """Return for each second the number of requests logged and their p95 latency in milliseconds."""
    second = (arrivals.t0 - began_ms).floordiv(_S)
    grouped = latencies_ms(arrivals).groupby(second)
    p95, counts = grouped.quantile(0.95), grouped.size()
    return [(int(counts.get(at, 0)), float(p95[at]) if at in p95.index else None) for at in range(seconds)]


def timeline_of_run(reconciled: Reconciled, wanted: Wanted, began_ms: int) -> Timeline:
    """Return the timeline of a run, with one value per second.

    Its series are the mean time in each stage of the events logged in that second, the number of events that passed web
    server, shipper and aggregator, and the queue at the second's end. Queue and passing events include warm-up
    requests.
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
    return [None if np.isnan(value) else round(float(value), 1) for value in values]
