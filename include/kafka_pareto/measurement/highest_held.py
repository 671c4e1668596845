"""Search the highest rate that a system holds. Pure: what holds a rate is an argument."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

Found = TypeVar("Found")
_LARGEST_STEP = 4.0
_ROUNDED = 1 + 1e-9
_LOWEST_S = 1.0
_HIGHEST_S = 1e6


class Held(NamedTuple, Generic[Found]):
    """The highest rate that was held, and what was found at it."""

    rate_s: float
    found: Found


def highest_held(probe: Callable[[float], Found | None], guess_s: float, precision: float) -> Held[Found] | None:
    """Return the highest rate that is held, to within a factor; None where not even one a second is.

    From the guess on the rate is raised or lowered until one is held and the next is not; the first step is as small as
    the precision, so that a good guess takes few tries, and each further one is the square of the last. Then the
    geometric mean of the two rates takes the place of one of them, until they are as near as asked. A rate that is not
    held is tried once more, so that a single disturbance does not decide.

    Args:
        probe: Returns what was found at a rate, and None where it was not held.
        guess_s: The first rate.
        precision: The factor between the rate that is held and the one that is not.
    """
    held: Held[Found] | None = None
    failed_s = math.inf
    rate_s, step = guess_s, precision
    while _LOWEST_S <= rate_s < failed_s and rate_s <= _HIGHEST_S:
        found = probe(rate_s)
        if found is None:
            found = probe(rate_s)
        if found is None:
            failed_s = rate_s
        else:
            held = Held(rate_s, found)
        if held is not None and failed_s / held.rate_s <= precision * _ROUNDED:
            break
        if held is not None and math.isfinite(failed_s):
            rate_s = math.sqrt(held.rate_s * failed_s)
        else:
            rate_s = held.rate_s * step if held is not None else max(failed_s / step, _LOWEST_S)
            step = min(step**2, _LARGEST_STEP)
    return held
