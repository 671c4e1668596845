"""Measure variability within one run at its fixed rate: of its latencies, and of its windows' throughput.

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
    """Return a robust CV of one run's latencies: (p90 - p50) / (1.2816 p50); None for a median of zero.

    For normal values the median and p90 are 1.2816 standard deviations apart, so the result equals their CV. A scale
    from quantiles (Rousseeuw and Croux, Journal of the American Statistical Association 88, 1993) does not follow the
    few slowest records, as the plain CV does. `latencies` has `p50` and `p90`, in any one unit.
    """
    if not latencies["p50"] > 0:
        return None
    return (latencies["p90"] - latencies["p50"]) / (_P90_SCORE * latencies["p50"])


def throughput_cv_in_run(window_records: Sequence[int], window_ms: int, sending_s: float) -> float | None:
    """Return the CV of successive windows' throughput at a fixed rate: standard deviation (n-1) over mean.

    Each window has equally many due records; batching, waiting and stalls vary the acknowledged counts. The result does
    not depend on speed: a constant latency only shifts the windows. The first window with an acknowledgement is partly
    empty, so windows count from the next one to the end of sending. Unthrottled windows are no substitute: there the
    machine's own noise hides the effect of configurations.

    Args:
        window_records: Records acknowledged per window of the part at a fixed rate, in order of time.
        window_ms: The windows' length; the CV depends on it, so only 100 ms is compared.
        sending_s: From the start of the part to its last call of `send()`.

    Returns:
        None for windows of another length, for fewer than five, and without any acknowledgement.
    """
    arrived = np.flatnonzero(window_records)
    if window_ms != WINDOW_MS or not len(arrived):
        return None
    while_sending = int(sending_s * _MS_PER_S // window_ms)
    counted = np.asarray(window_records[arrived[0] + 1 : while_sending], dtype=np.float64)
    if len(counted) < _LEAST_WINDOWS or not counted.any():
        return None
    return float(np.std(counted, ddof=1) / np.mean(counted))
