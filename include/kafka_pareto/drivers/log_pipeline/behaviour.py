"""Says how a pipeline behaved over a run: stable, throttled, spiky or collapsed. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kafka_pareto.analysis.student import student_critical
from kafka_pareto.drivers.log_pipeline.by_second import per_second
from kafka_pareto.drivers.log_pipeline.stages import Reconciled, latencies_ms
from kafka_pareto.services.figures import slope_of
from kafka_pareto.study.log_pipeline_quantities import PipelineLabel

_KEPT_UP_FRACTION = 0.95
_CHANCE_ERRORS = 2.0
_SPIKE_TIMES = 5.0
_RISE_TIMES = 1.1
_CONFIDENCE = 0.95
_S = 1000
"""Milliseconds in a second."""


@dataclass(frozen=True)
class Slope:
    """Holds by how many events in each second a queue grew, with its 95 % interval."""

    value: float
    low: float
    high: float


def rate_of_commits(events: pd.DataFrame, from_ms: int, until_ms: int) -> float | None:
    """Returns how many events Hive took in each second of a stretch of time.

    Events come in batches, so that the ends of a stretch cut into them: what counts is from the first commit to the
    last. Where that one is further from the end than any two were from each other, the time beyond that counts, too. A
    pipeline that is so slow that two do not fall within is looked at for longer, until the second one.

    Returns:
        None where nothing was committed from the beginning of the stretch on.
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


def slope_of_second_half(arrivals: pd.DataFrame, began_ms: int, seconds: int) -> Slope | None:
    """Returns the slope of a line through what the queue was after each commit of a run's second half.

    Between two commits it only grows, so that values at other times are not independent of each other. Where there is
    no commit at all, the line goes through the queue at the end of each second. None of fewer than three values.
    """
    from_ms, until_ms = began_ms + seconds * _S // 2, began_ms + seconds * _S
    at_ms = np.unique(arrivals.t7[(arrivals.t7 >= from_ms) & (arrivals.t7 < until_ms)])
    if not len(at_ms):
        at_ms = np.arange(from_ms + _S, until_ms + 1, _S)
    logged, committed = (np.searchsorted(np.sort(arrivals[stamp]), at_ms, side="right") for stamp in ("t0", "t7"))
    fitted = slope_of(list(zip((at_ms - from_ms) / _S, logged - committed, strict=True)))
    if fitted is None:
        return None
    slope, error = fitted
    reach = error * float(student_critical((1 - _CONFIDENCE) / 2, len(at_ms) - 2))
    return Slope(slope, slope - reach, slope + reach)


def label_of(reconciled: Reconciled, began_ms: int, seconds: int, steady_from_s: int) -> PipelineLabel:
    """Labels a run by rule; the first that holds, in this order.

    - collapsed: in the second half the queue grows (the slope's 95 % interval lies above zero), and p95 latency of the
      last quarter is more than a tenth above that of the third, or requests were still on their way at the end.
    - throttled: from `steady_from_s` on, Hive takes fewer than 95 % of what nginx logs in each second, and the
      shortfall is more than two standard errors of random arrivals.
    - spiky: shipper or aggregator has a second with more than five times its mean, or Hive a batch with more than five
      times its mean one.
    - stable.

    Args:
        reconciled: What was logged before the run included.
        began_ms: When the run began.
        seconds: How long it was.
        steady_from_s: From when on it was steady.
    """
    events, arrivals = reconciled.events, reconciled.arrivals
    slope = slope_of_second_half(arrivals, began_ms, seconds)
    is_late = len(reconciled.pending) > 0 or _p95_rises(arrivals, began_ms, seconds)
    if slope is not None and slope.low > 0 and is_late:
        return "collapsed"
    logged_s = rate_of_requests(arrivals, began_ms, seconds, steady_from_s)
    committed_s = rate_of_commits(events, began_ms + _S * steady_from_s, began_ms + _S * seconds)
    # What is committed in that time was logged a latency earlier: in so much of it both counts are of other requests.
    steady_s = seconds - steady_from_s
    apart_s = min(float(latencies_ms(arrivals).mean()) / _S, steady_s)
    chance_s = _CHANCE_ERRORS * math.sqrt(2 * logged_s * apart_s) / steady_s
    if committed_s is None or committed_s < min(_KEPT_UP_FRACTION * logged_s, logged_s - chance_s):
        return "throttled"
    return "spiky" if max(spikes(events, began_ms, seconds).values()) > _SPIKE_TIMES else "stable"


def rate_of_requests(arrivals: pd.DataFrame, began_ms: int, seconds: int, from_s: int) -> float:
    """Returns how many requests nginx logged in each second of a run's rest."""
    return float(per_second(arrivals.t0, began_ms, seconds)[from_s:].mean())


def spikes(events: pd.DataFrame, began_ms: int, seconds: int) -> dict[str, float]:
    """Returns the busiest second of shipper and aggregator, and Hive's largest batch, each over the mean of all."""
    found = {
        "shipper": per_second(events.t2, began_ms, seconds),
        "aggregator": per_second(events.t4, began_ms, seconds),
        "hive": events.t7[(events.t7 >= began_ms) & (events.t7 < began_ms + _S * seconds)].value_counts().to_numpy(),
    }
    return {name: float(counts.max() / counts.mean()) if counts.any() else 0.0 for name, counts in found.items()}


def _p95_rises(arrivals: pd.DataFrame, began_ms: int, seconds: int) -> bool:
    quarter = (arrivals.t0 - began_ms) * 4 // (_S * seconds)
    third, last = (latencies_ms(arrivals)[quarter == number] for number in (2, 3))
    return bool(len(third) and len(last) and last.quantile(0.95) > _RISE_TIMES * third.quantile(0.95))
