"""Find when a latency has recovered from a disturbance."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import TypeAlias

_STAYS_S = 5
_NEAR_TIMES = 2.0

Seconds: TypeAlias = Sequence[tuple[int, float | None]]
"""Number of records and their p95 latency in milliseconds, by second."""


def within_again_at_s(seconds: Seconds, bound_ms: float, raised_from_s: float, search_from_s: float) -> float | None:
    """Return the second from which the p95 latency was within the bound again, for five seconds in a row.

    It may be raised from `raised_from_s` on, and recovery counts from `search_from_s` on. Return `raised_from_s` if it
    was never beyond the bound since, None if it did not recover.
    """
    is_within = [p95_ms is not None and p95_ms <= bound_ms for _, p95_ms in seconds]
    for second in range(math.ceil(search_from_s), len(seconds) - _STAYS_S + 1):
        if all(is_within[second : second + _STAYS_S]) and not all(is_within[int(raised_from_s) : second]):
            return float(second)
    return raised_from_s if all(is_within[int(raised_from_s) :]) else None


def seconds_to_former_p95(seconds: Seconds, since_s: float, whole_s: float, skip_s: float = 0.0) -> float | None:
    """Return the seconds from a fault's start until the p95 latency was back near its former level.

    Near means at most twice the median of the seconds before, or their maximum, for five seconds in a row that begin
    once the system is whole again (`whole_s`). The first `skip_s` seconds are excluded from the former level. Return 0
    if it never left that level, None if it did not return or nothing came before.
    """
    before = [p95_ms for _, p95_ms in seconds[math.ceil(skip_s) : int(since_s)] if p95_ms is not None]
    if not before:
        return None
    bound_ms = max(_NEAR_TIMES * statistics.median(before), *before)
    found = within_again_at_s(seconds, bound_ms, since_s, whole_s)
    return None if found is None else found - since_s
