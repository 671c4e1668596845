"""Measure how unsteady one run is at its fixed rate: the spread of its latencies and of its windows' throughput.

The coefficient of variation across a few repetitions is nearly all noise. These two are repeatable: on recorded runs of
three seconds, the mean of three repetitions has a split-half reliability of 0.9 and more (`benchmarks/variability.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import NormalDist

import numpy as np

WINDOW_MS = 100
_LEAST_WINDOWS = 5
_MS_PER_S = 1_000
_P90_SCORE = NormalDist().inv_cdf(0.9)


def latency_cv_in_run(latencies: Mapping[str, float]) -> float | None:
    """Return a robust CV of one run's latencies: (p90 - p50) / (1.2816 p50).

    Between the median and p90 of normal values lie 1.2816 standard deviations. The result therefore equals their CV.
    The scale comes from quantiles as in Rousseeuw and Croux (Journal of the American Statistical Association 88, 1993).
    The plain CV follows the few slowest records of a run, which differ from run to run.

    Args:
        latencies: By name, `p50` and `p90` among them, in any one unit.

    Returns:
        None where the median is zero.
    """
    if not latencies["p50"] > 0:
        return None
    return (latencies["p90"] - latencies["p50"]) / (_P90_SCORE * latencies["p50"])


def throughput_cv_in_run(window_records: Sequence[int], window_ms: int, sending_s: float) -> float | None:
    """Return the CV of successive windows' throughput at a fixed rate: standard deviation (n-1) over mean.

    As many records are due in one window as in the next. Batching, waiting and stalls make the acknowledged counts
    differ. The result says nothing about speed: a latency that is the same for every record only shifts the windows.
    The first window with an acknowledgement is partly empty, so windows count from the one after it, and to the end of
    sending. Unthrottled windows are no substitute: there the machine's own unrest hides what configurations do.

    Args:
        window_records: Records acknowledged in each window of the part at a fixed rate, in order of time; the first
            window begins with the part.
        window_ms: The windows' length; the CV depends on it, so only those of 100 ms are compared.
        sending_s: From the beginning of the part to its last call of `send()`.

    Returns:
        None for windows of another length, for fewer than five, and where nothing was acknowledged.
    """
    arrived = np.flatnonzero(window_records)
    if window_ms != WINDOW_MS or not len(arrived):
        return None
    while_sending = int(sending_s * _MS_PER_S // window_ms)
    counted = np.asarray(window_records[arrived[0] + 1 : while_sending], dtype=np.float64)
    if len(counted) < _LEAST_WINDOWS or not counted.any():
        return None
    return float(np.std(counted, ddof=1) / np.mean(counted))
