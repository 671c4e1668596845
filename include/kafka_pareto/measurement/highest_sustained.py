"""Search for the highest rate a system sustains."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

Found = TypeVar("Found")
_LARGEST_STEP = 4.0
_ROUNDED = 1 + 1e-9
_LOWEST_S = 1.0
_HIGHEST_S = 1e6


class Sustained(NamedTuple, Generic[Found]):
    """The highest sustained rate, and the finding at it."""

    rate_s: float
    found: Found


def highest_sustained(
    probe: Callable[[float], Found | None], guess_s: float, precision: float
) -> Sustained[Found] | None:
    """Return the highest sustained rate, to within a factor; None if it is below one a second.

    The guess is raised or lowered until one is sustained and the next is not; the first step is as small
    as the precision, and each further one is the square of the last. Then the geometric mean replaces one of the two
    rates until they are within the precision. A failed rate is retried once, in case of a single disturbance.

    Args:
        probe: Returns the finding at a rate, None if the rate was not sustained.
        guess_s: The first rate.
        precision: The factor between the sustained rate and the failed one.
    """
    sustained: Sustained[Found] | None = None
    failed_s = math.inf
    rate_s, step = guess_s, precision
    while _LOWEST_S <= rate_s < failed_s and rate_s <= _HIGHEST_S:
        found = probe(rate_s)
        if found is None:
            found = probe(rate_s)
        if found is None:
            failed_s = rate_s
        else:
            sustained = Sustained(rate_s, found)
        if sustained is not None and failed_s / sustained.rate_s <= precision * _ROUNDED:
            break
        if sustained is not None and math.isfinite(failed_s):
            rate_s = math.sqrt(sustained.rate_s * failed_s)
        else:
            rate_s = sustained.rate_s * step if sustained is not None else max(failed_s / step, _LOWEST_S)
            step = min(step**2, _LARGEST_STEP)
    return sustained
