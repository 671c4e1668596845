"""Says how a pipeline behaved over a run: stable, throttled, spiky or collapsed. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from kafka_pareto.analysis.rounding import Values
from kafka_pareto.drivers.log_pipeline.by_second import per_second, queue_of
from kafka_pareto.drivers.log_pipeline.stages import latencies_ms
from kafka_pareto.study.log_pipeline_quantities import PipelineLabel

_KEPT_UP_FRACTION = 0.95
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

    Events come in batches, so that the ends of a stretch cut into them: what counts is from one commit to another.

    Returns:
        None where there were no two commits.
    """
    times = events.t7[events.t7.between(from_ms, until_ms, inclusive="left")]
    first, last = times.min(), times.max()
    return float((times > first).sum() * _S / (last - first)) if last > first else None


def slope_of_second_half(queue: Values) -> Slope | None:
    """Returns the slope of a line through the second half of a queue's seconds; None of fewer than three."""
    half = queue[len(queue) // 2 :]
    if len(half) < 3:
        return None
    fitted = stats.linregress(np.arange(len(half)), half)
    reach = float(stats.t.ppf(0.5 + _CONFIDENCE / 2, len(half) - 2)) * float(np.nan_to_num(fitted.stderr))
    return Slope(float(fitted.slope), float(fitted.slope - reach), float(fitted.slope + reach))


def label_of(events: pd.DataFrame, began_ms: int, seconds: int, steady_from_s: int) -> PipelineLabel:
    """Labels a run by rule; the first that holds, in this order.

    - collapsed: in the second half the queue grows (the slope's 95 % interval lies above zero), and p95 latency of the
      last quarter is more than a tenth above that of the third.
    - throttled: from `steady_from_s` on, Hive takes fewer than 95 % of what nginx logs in each second.
    - spiky: shipper, aggregator or Hive has a second with more than five times its mean.
    - stable.

    Args:
        events: Those of before the run included.
        began_ms: When the run began.
        seconds: How long it was.
        steady_from_s: From when on it was steady.
    """
    slope = slope_of_second_half(queue_of(events, began_ms, seconds))
    if slope is not None and slope.low > 0 and _p95_rises(events, began_ms, seconds):
        return "collapsed"
    logged_s = float(per_second(events.t0, began_ms, seconds)[steady_from_s:].mean())
    committed_s = rate_of_commits(events, began_ms + _S * steady_from_s, began_ms + _S * seconds)
    if committed_s is None or committed_s < _KEPT_UP_FRACTION * logged_s:
        return "throttled"
    return "spiky" if max(spikes(events, began_ms, seconds).values()) > _SPIKE_TIMES else "stable"


def spikes(events: pd.DataFrame, began_ms: int, seconds: int) -> dict[str, float]:
    """Returns the busiest second over the mean of all, at the three points where throughput is looked at."""
    found = {}
    for name, stamp in (("shipper", "t2"), ("aggregator", "t4"), ("hive", "t7")):
        counts = per_second(events[stamp], began_ms, seconds)
        found[name] = float(counts.max() / counts.mean()) if counts.any() else 0.0
    return found


def _p95_rises(events: pd.DataFrame, began_ms: int, seconds: int) -> bool:
    quarter = (events.t0 - began_ms) * 4 // (_S * seconds)
    third, last = (latencies_ms(events)[quarter == number] for number in (2, 3))
    return bool(len(third) and len(last) and last.quantile(0.95) > _RISE_TIMES * third.quantile(0.95))
