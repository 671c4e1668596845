"""Compute latencies, jitter and rate of a run of orders."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

_MS = 1e3
_RFC_3550_WEIGHT = 1 / 16


def latency_of(seconds: Sequence[float]) -> dict[str, float] | None:
    """Return mean and percentiles, in milliseconds, of latencies given in seconds; None if there are none."""
    if not seconds:
        return None
    values = np.asarray(seconds) * _MS
    p50, p95, p99 = (float(value) for value in np.quantile(values, (0.5, 0.95, 0.99)))
    return {"mean_ms": float(values.mean()), "p50_ms": p50, "p95_ms": p95, "p99_ms": p99}


def jitter_ms(seconds: Sequence[float]) -> float | None:
    """Return the mean absolute difference of successive latencies, in order of arrival; None for fewer than two."""
    if len(seconds) < 2:
        return None
    return float(np.abs(np.diff(np.asarray(seconds))).mean() * _MS)


def smoothed_jitter_ms(seconds: Sequence[float]) -> float | None:
    """Return the interarrival jitter of RFC 3550, section 6.4.1, after the last arrival; None for fewer than two."""
    if len(seconds) < 2:
        return None
    smoothed = 0.0
    for before, after in pairwise(seconds):
        smoothed += (abs(after - before) - smoothed) * _RFC_3550_WEIGHT
    return smoothed * _MS


def slope_of(points: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """Return the slope of the least-squares line through points (x, y), and its standard error for independent points.

    None for fewer than three distinct x.
    """
    if len({x for x, _ in points}) < 3:
        return None
    x, y = np.asarray(points).T
    line, covariance = np.polyfit(x - x[0], y, 1, cov="unscaled")
    residual = y - np.polyval(line, x - x[0])
    variance = float(residual @ residual) / max(len(x) - 2, 1)
    return float(line[0]), float(np.sqrt(variance * covariance[0, 0]))


def longest_gap_s(times: Sequence[float]) -> float | None:
    """Return the longest time between successive times, in seconds; None for fewer than two."""
    return float(np.diff(np.asarray(times)).max()) if len(times) > 1 else None


def by_second(began_at: float, times: Sequence[float], latencies_s: Sequence[float]) -> list[tuple[int, float | None]]:
    """Return the count in each second from `began_at` on, and the p95 latency in milliseconds."""
    seconds = np.floor(np.asarray(times) - began_at).astype(int)
    latencies = np.asarray(latencies_s) * _MS
    found: list[tuple[int, float | None]] = []
    for second in range(int(seconds.max(initial=-1)) + 1):
        here = latencies[seconds == second]
        found.append((len(here), float(np.quantile(here, 0.95)) if len(here) else None))
    return found
