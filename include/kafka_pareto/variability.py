"""How unsteady one run is at its fixed rate: its latencies, and its throughput from window to window. Pure.

The coefficient of variation across a few repetitions is nearly all noise. These two are repeatable: on recorded runs of
three seconds, the mean of three repetitions has a split-half reliability of 0.9 and more (`benchmarks/variability.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import NormalDist

import numpy as np

WINDOW_MS = 100
_LEAST_WINDOWS = 5
_P90_SCORE = NormalDist().inv_cdf(0.9)


def latency_cv_in_run(latencies: Mapping[str, float]) -> float | None:
    """A robust CV of one run's latencies: (p90 - p50) / (1.2816 p50).

    Between the median and p90 of normal values lie 1.2816 standard deviations, so that it equals their CV; a scale from
    quantiles as in Rousseeuw and Croux (Journal of the American Statistical Association 88, 1993). The plain CV follows
    the few slowest records of a run, which differ from run to run.

    Args:
        latencies: By name, `p50` and `p90` among them, in any one unit.

    Returns:
        None where the median is zero.
    """
    if not latencies["p50"] > 0:
        return None
    return (latencies["p90"] - latencies["p50"]) / (_P90_SCORE * latencies["p50"])


def throughput_cv_in_run(window_records: Sequence[int], window_ms: int) -> float | None:
    """The CV of the throughput of successive windows: standard deviation with n-1, over the mean.

    As many records are due in one window as in the next; that more are acknowledged in one of them is what batching,
    waiting and stalls do. The first window, before which nothing was under way, and the last, which is cut short, do
    not count. Unthrottled windows are no substitute: there the machine's own unrest hides what configurations do.

    Args:
        window_records: Records acknowledged in each window of the part at a fixed rate, in order of time.
        window_ms: The windows' length; the CV depends on it, so only those of 100 ms are compared.

    Returns:
        None for windows of another length, for fewer than five, and where nothing was acknowledged.
    """
    inner = np.asarray(window_records[1:-1], dtype=np.float64)
    if window_ms != WINDOW_MS or len(inner) < _LEAST_WINDOWS or not inner.any():
        return None
    return float(np.std(inner, ddof=1) / np.mean(inner))
