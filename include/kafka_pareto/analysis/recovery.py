"""Says when a latency is again what it was before something happened. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import TypeAlias

_STAYS_S = 5
_NEAR_TIMES = 2.0

Seconds: TypeAlias = Sequence[tuple[int, float | None]]
"""Number and p95 latency in milliseconds of what came in each second."""


def within_again_at_s(seconds: Seconds, bound_ms: float, raised_from_s: float, search_from_s: float) -> float | None:
    """Returns from when on the p95 latency was within a bound again, and stayed there for five seconds.

    Args:
        seconds: What came in each second.
        bound_ms: The bound.
        raised_from_s: From when on it may have been raised.
        search_from_s: From when on seconds within the bound count.

    Returns:
        A second; `raised_from_s` where it was never beyond the bound since; None where it was not within again.
    """
    is_within = [p95_ms is not None and p95_ms <= bound_ms for _, p95_ms in seconds]
    for second in range(math.ceil(search_from_s), len(seconds) - _STAYS_S + 1):
        if all(is_within[second : second + _STAYS_S]) and not all(is_within[int(raised_from_s) : second]):
            return float(second)
    return raised_from_s if all(is_within[int(raised_from_s) :]) else None


def seconds_to_former_p95(seconds: Seconds, since_s: float, whole_s: float, skip_s: float = 0.0) -> float | None:
    """Returns how long after a fault's beginning the p95 latency was near the former one again.

    Near is at most twice the median of the seconds before, or as much as the slowest of them had, for five seconds on
    end that begin once all is whole again.

    Args:
        seconds: What came in each second.
        since_s: When the fault began; the seconds before are what it was.
        whole_s: When it was over and nothing was missing any more.
        skip_s: So many first seconds are no part of what it was.

    Returns:
        Seconds; 0 where it never was otherwise; None where it was not near again, or there is nothing before.
    """
    before = [p95_ms for _, p95_ms in seconds[math.ceil(skip_s) : int(since_s)] if p95_ms is not None]
    if not before:
        return None
    bound_ms = max(_NEAR_TIMES * statistics.median(before), *before)
    found = within_again_at_s(seconds, bound_ms, since_s, whole_s)
    return None if found is None else found - since_s
