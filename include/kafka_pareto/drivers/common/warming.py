"""Repeat a load until a cluster is warm: freshly started brokers reach only a fraction of their later throughput."""

from __future__ import annotations

import logging
from collections.abc import Callable

log = logging.getLogger(__name__)

STILL_RISING = 1.1
FLAT_LOADS = 2
"""Consecutive loads at most a tenth above the best; one is not enough, since warming brokers have slow moments."""


def pace_when_warm(load: Callable[[float], float], most_loads: int) -> float:
    """Repeat a load until two in a row exceed the best rate before them by at most a tenth.

    Args:
        load: Runs one, given the best rate so far (0 at first), and returns its rate.
        most_loads: The maximum number of loads.

    Returns:
        The best rate.
    """
    best, flat = load(0.0), 0
    for _ in range(most_loads - 1):
        again = load(best)
        is_rising = again > STILL_RISING * best
        if is_rising:
            log.info("the cluster is still warming up: %.0f, then %.0f records/s", best, again)
        flat = 0 if is_rising else flat + 1
        best = max(best, again)
        if flat == FLAT_LOADS:
            break
    return best
