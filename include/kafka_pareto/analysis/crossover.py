"""Compare two levels along an ordered factor: over ranges of it, and at the crossover.

Both are measured at the same points, within the same blocks. A ratio is the first level's value over the second's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
from scipy.optimize import isotonic_regression

from kafka_pareto.analysis.paired_tests import CONFIDENCE, MINIMUM_BLOCKS
from kafka_pareto.analysis.ratios import ByBlock, Ratio, geometric_ratio
from kafka_pareto.analysis.rounding import Values
from kafka_pareto.analysis.student import student_critical

Points: TypeAlias = Mapping[float, tuple[ByBlock, ByBlock]]
"""Both levels' values by block, at each point of the ordered factor; points are above zero."""

Level = TypeVar("Level")

_RESAMPLES = 2000


@dataclass(frozen=True)
class Crossing:
    """The point at which a ratio passes 1, interpolated on log axes, and its 95 % interval over blocks.

    `low` and `high` are NaN where they lie beyond the measured points.
    """

    at: float
    low: float
    high: float


def pooled_ratio(points: Points) -> Ratio:
    """Return the geometric mean of the points' ratios, with its interval over the blocks that measured all of them."""
    logs = _log_ratios(points)
    return geometric_ratio(logs.mean(axis=1)) if logs.size else Ratio()


def crossing_of(points: Points, *, is_rising: bool, rng: np.random.Generator) -> Crossing | None:
    """Return where the ratio passes 1 (from below if `is_rising`), with a bootstrap interval; None if nowhere.

    The blocks' mean log-ratio is fitted by a monotone function of the points (Barlow et al., Statistical Inference
    under Order Restrictions, 1972), so noise around 1 gives one crossing. The interval is Student's, with the standard
    deviation of the log crossing in resamples of whole blocks: percentiles of resamples of five blocks are far too
    narrow. An end is unknown outside the points, or if more than 2.5 % of the resamples cross beyond that side or not
    at all.
    """
    logs = _log_ratios(points) * (1 if is_rising else -1)
    blocks = len(logs)
    if blocks < MINIMUM_BLOCKS or len(points) < 2:
        return None
    places = np.log(sorted(points))
    found = _zero_of(places, logs.mean(axis=0))
    if not math.isfinite(found):
        return None
    resampled = np.array(
        [_zero_of(places, logs[rng.integers(0, blocks, blocks)].mean(axis=0)) for _ in range(_RESAMPLES)]
    )
    tail = (1 - CONFIDENCE) / 2
    # The variance of a resample of n blocks is (n - 1) / n of that of n new blocks.
    spread = float(np.std(resampled[np.isfinite(resampled)])) * math.sqrt(blocks / (blocks - 1))
    half = spread * float(student_critical(tail, blocks - 1))
    low, high = found - half, found + half
    is_low_known = low >= places[0] and np.mean(resampled == -math.inf) <= tail
    is_high_known = high <= places[-1] and np.mean(resampled == math.inf) <= tail
    return Crossing(
        math.exp(found), math.exp(low) if is_low_known else math.nan, math.exp(high) if is_high_known else math.nan
    )


def crossing_of_ratios(ratios: Mapping[float, float], *, is_rising: bool) -> float | None:
    """Return where ratios without blocks pass 1, with the same fit; None if they do not."""
    if len(ratios) < 2 or min(ratios.values()) <= 0:
        return None
    logs = np.array([math.log(ratios[point]) for point in sorted(ratios)]) * (1 if is_rising else -1)
    found = _zero_of(np.log(sorted(ratios)), logs)
    return math.exp(found) if math.isfinite(found) else None


def _log_ratios(points: Points) -> Values:
    """Return one row for each block that measured both levels at every point; shape (blocks, points)."""
    pairs = [points[place] for place in sorted(points)]
    if not pairs:
        return np.empty((0, 0))
    blocks = sorted(set.intersection(*(set(first) & set(second) for first, second in pairs)))
    sides = np.array([[[side[block] for side in pair] for pair in pairs] for block in blocks])
    if not blocks or np.min(sides) <= 0:
        return np.empty((0, len(pairs)))
    logs: Values = np.log(sides[:, :, 0] / sides[:, :, 1])
    return logs


def _zero_of(places: Values, means: Values) -> float:
    """Return where a rising fit passes zero: minus infinity if it is above everywhere, infinity if below."""
    fitted = isotonic_regression(means).x
    above = np.flatnonzero(fitted > 0)
    if not len(above):
        return math.inf
    if above[0] == 0:
        return -math.inf
    return float(np.interp(0.0, fitted[above[0] - 1 : above[0] + 1], places[above[0] - 1 : above[0] + 1]))


def all_pairs(levels: Sequence[Level]) -> list[tuple[Level, Level]]:
    """List each level with every level before it, as (level, other)."""
    return [(level, other) for at, level in enumerate(levels) for other in levels[:at]]
