"""Repeats a load until a cluster is warm: brokers that have just started take a fraction of what they take later."""

from __future__ import annotations

import logging
from collections.abc import Callable

log = logging.getLogger(__name__)

STILL_RISING = 1.1
FLAT_LOADS = 2
"""Is how many loads in a row must bring hardly more: brokers that warm up have slow moments, too."""


def pace_when_warm(load: Callable[[float], float], most_loads: int) -> float:
    """Repeats a load until two in a row bring no more than a tenth over the best before them.

    Args:
        load: Runs one, given the best pace so far (0 at first), and returns its pace.
        most_loads: How many are run at most.

    Returns:
        The best pace.
    """
    best, flat = load(0.0), 0
    for _ in range(most_loads - 1):
        again = load(best)
        is_rising = again > STILL_RISING * best
        if is_rising:
            log.info("the cluster is still warming up: %.0f a second, then %.0f", best, again)
        flat = 0 if is_rising else flat + 1
        best = max(best, again)
        if flat == FLAT_LOADS:
            break
    return best
