"""Distinguish real differences from rounding."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

ROUNDING = 1e-12
"""A relative difference due to rounding: below load generators' resolution, above the error of long sums."""


def has_spread(values: Values, scale: float | None = None) -> bool:
    """Return whether the values, shape (n,), differ by more than rounding; False if empty.

    `scale` is the size of the numbers that they are differences of; by default their own largest.
    """
    if not len(values):
        return False
    return bool(np.ptp(values) > ROUNDING * (np.max(np.abs(values)) if scale is None else scale))


def rounding_sd(resolution: float, *sides: Values) -> float:
    """Return the standard deviation that rounding adds to a block's log of a value, or log-ratio of two (Sheppard).

    `resolution` is the smallest difference that the tool shows, 0 for any; each side has positive values of the blocks.
    """
    typical = [np.exp(np.mean(np.log(side))) for side in sides]
    return float(resolution / np.sqrt(12) * np.sqrt(sum(typical_value**-2.0 for typical_value in typical)))


def dense_ranks(values: Values) -> Values:
    """Rank the values from 0; neighbours that differ only by rounding share a rank."""
    order = np.argsort(values)
    steps = np.diff(values[order]) > ROUNDING * np.max(np.abs(values), initial=0.0)
    ranks = np.empty(len(values))
    ranks[order] = np.concatenate([[0], np.cumsum(steps)])[: len(values)]
    return ranks
