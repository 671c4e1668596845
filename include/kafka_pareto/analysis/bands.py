"""Finds neighbouring levels of an ordered factor between which a value jumps. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kafka_pareto.analysis.ratios import ByBlock, Ratio, geometric_ratio
from kafka_pareto.analysis.rounding import Values

SMALLEST_JUMP = 1.25
"""As a ratio, up or down: smaller ones are not named, however sure."""
MINIMUM_STEPS = 3
"""Sets the fewest steps: where two differ, neither is known to be the jump."""
_NEIGHBOURS = 2


@dataclass(frozen=True)
class Step:
    """Holds the step between two neighbouring levels.

    Attributes:
        lower: The lower level.
        upper: The next one.
        ratio: The value at the upper level over that at the lower one, beyond the trend of the steps around.
    """

    lower: int | float
    upper: int | float
    ratio: Ratio

    @property
    def is_large(self) -> bool:
        """Returns whether the step is large enough to be named, if it is sure."""
        return abs(math.log(self.ratio.value)) >= math.log(SMALLEST_JUMP)


def steps_beyond_trend(curve: Mapping[int | float, ByBlock]) -> list[Step]:
    """Returns the steps between neighbouring levels, less the trend of the curve, in ascending order.

    A step is the difference of the logs of both values, of one block, over the difference of the levels' logs: the
    slope on axes with logarithms. The trend at a step is the median slope of the five steps around, its own among
    them; of three where two on a side are missing; at the ends it follows Tukey's end-point rule (Exploratory Data
    Analysis, 1977, chapter 7). Running medians follow a curve that bends one way, and keep off a single jump. Each
    block gives one difference from the trend; interval and p-value are Student's on these, not adjusted for the number
    of steps.

    Args:
        curve: The values by level and block.

    Returns:
        The steps that some block measured; none for fewer than four levels.

    Raises:
        ValueError: If a level is zero or below.
    """
    levels = np.array(sorted(curve), dtype=float)
    if len(levels) and levels[0] <= 0:
        raise ValueError(f"level {levels[0]:g} has no place on a logarithmic axis: levels must be above zero")
    if len(levels) <= MINIMUM_STEPS:
        return []
    widths = np.diff(np.log(levels))
    slopes = np.diff(_logs(curve), axis=1) / widths
    trends = np.full(slopes.shape, math.nan)
    for row, trend in zip(slopes, trends, strict=True):
        known = np.isfinite(row)
        if known.sum() >= MINIMUM_STEPS:
            trend[known] = _trend(row[known])
    found = []
    for at, (lower, upper) in enumerate(pairwise(sorted(curve))):
        beyond = (slopes[:, at] - trends[:, at]) * widths[at]
        ratio = geometric_ratio(beyond[np.isfinite(beyond)])
        if not math.isnan(ratio.value):
            found.append(Step(lower, upper, ratio))
    return found


def _logs(curve: Mapping[int | float, ByBlock]) -> Values:
    """Returns the logs of the values, shape (blocks, levels); NaN where a block has none above zero."""
    blocks = sorted(set().union(*curve.values()))
    values = np.array([[curve[level].get(block, math.nan) for level in sorted(curve)] for block in blocks])
    return np.log(np.where(values > 0, values, np.nan)).reshape(len(blocks), len(curve))


def _trend(slopes: Values) -> Values:
    """Returns the trend at each of a block's steps, of which there are at least `MINIMUM_STEPS`."""
    last = len(slopes) - 1
    trend = np.array([_running_median(slopes, at, min(_NEIGHBOURS, at, last - at)) for at in range(len(slopes))])
    for end, next_to_it, third in ((0, 1, 2), (last, last - 1, last - 2)):
        near, far = trend[next_to_it], trend[third if len(slopes) > MINIMUM_STEPS else next_to_it]
        trend[end] = np.median([slopes[end], near, 3 * near - 2 * far])
    return trend


def _running_median(slopes: Values, at: int, reach: int) -> float:
    return float(np.median(slopes[at - reach : at + reach + 1]))
