"""Tells values that differ from values that only round differently. A leaf."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

ROUNDING = 1e-12
"""A relative difference that is rounding. No load tool resolves as much; sums of 100,000 values err by less."""


def has_spread(values: Values, scale: float | None = None) -> bool:
    """Tells whether the values differ by more than rounding; no values do not.

    Args:
        values: Shape (n,).
        scale: What they were computed from, where they are differences of larger numbers; else the largest of them.
    """
    if not len(values):
        return False
    return bool(np.ptp(values) > ROUNDING * (np.max(np.abs(values)) if scale is None else scale))


def dense_ranks(values: Values) -> Values:
    """Ranks the values from 0 on; neighbours that differ by rounding alone share a rank."""
    order = np.argsort(values)
    steps = np.diff(values[order]) > ROUNDING * np.max(np.abs(values), initial=0.0)
    ranks = np.empty(len(values))
    ranks[order] = np.concatenate([[0], np.cumsum(steps)])[: len(values)]
    return ranks
