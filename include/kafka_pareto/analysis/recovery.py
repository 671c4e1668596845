"""Says when a latency is again what it was before something happened. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

_STAYS_S = 5


def seconds_to_former_p95(
    seconds: Sequence[tuple[int, float | None]],
    since_s: float,
    until_s: float | None = None,
    times: float = 2.0,
    former_ms: float | None = None,
) -> float | None:
    """Returns how long after an event the p95 latency was near the former one again.

    Near is at most so many times the former one, for five seconds on end.

    Args:
        seconds: Number and p95 latency in milliseconds of what came in each second.
        since_s: When it began; the seconds before are what it was.
        until_s: From when on time counts; `since_s` where it is not given.
        times: What is near.
        former_ms: What it was; the median of the seconds before where it is not given.

    Returns:
        Seconds; 0 where it never was otherwise; None where it was not near again, or there is nothing before.
    """
    until_s = since_s if until_s is None else until_s
    before = [p95_ms for _, p95_ms in seconds[: int(since_s)] if p95_ms is not None]
    if not before:
        return None
    bound_ms = times * (statistics.median(before) if former_ms is None else former_ms)
    is_near = [p95_ms is not None and p95_ms <= bound_ms for _, p95_ms in seconds]
    for second in range(math.ceil(until_s), len(seconds) - _STAYS_S + 1):
        if all(is_near[second : second + _STAYS_S]) and not all(is_near[int(since_s) : second]):
            return second - until_s
    return 0.0 if all(is_near[int(since_s) :]) else None
