"""Find neighbouring levels of an ordered factor between which a value jumps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kafka_pareto.analysis.ratios import ByBlock, Ratio, geometric_ratio
from kafka_pareto.analysis.rounding import Values

SMALLEST_JUMP = 1.25
"""A ratio, up or down; smaller jumps are not reported, even if significant."""
MINIMUM_STEPS = 3
"""With two different steps, either could be the jump."""
_NEIGHBOURS = 2


@dataclass(frozen=True)
class Step:
    """The step between neighbouring levels; `ratio` is upper over lower, beyond the trend of the steps around."""

    lower: int | float
    upper: int | float
    ratio: Ratio

    @property
    def is_large(self) -> bool:
        """Return whether the step is large enough to be reported if significant."""
        return abs(math.log(self.ratio.value)) >= math.log(SMALLEST_JUMP)


def steps_beyond_trend(curve: Mapping[int | float, ByBlock]) -> list[Step]:
    """Return the steps between neighbouring levels less the trend of the curve, ascending; none below four levels.

    A step is one block's log-difference of the two values over that of the two levels: the slope on log axes. The trend
    is the median slope of the five steps around it (three near an end; at the ends Tukey's end-point rule, Exploratory
    Data Analysis, 1977, chapter 7): running medians follow a bend but ignore a single jump. Interval and p-value are
    Student's over the blocks, not adjusted for the number of steps.

    Raises:
        ValueError: If a level is zero or below.
    """
    levels = np.array(sorted(curve), dtype=float)
    if len(levels) and levels[0] <= 0:
        raise ValueError(f"level {levels[0]:g}: must be above zero for a logarithmic axis")
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
    """Return the logs of the values, shape (blocks, levels); NaN where a block has none above zero."""
    blocks = sorted(set().union(*curve.values()))
    values = np.array([[curve[level].get(block, math.nan) for level in sorted(curve)] for block in blocks])
    return np.log(np.where(values > 0, values, np.nan)).reshape(len(blocks), len(curve))


def _trend(slopes: Values) -> Values:
    """Return the trend at each of a block's steps, at least `MINIMUM_STEPS`."""
    last = len(slopes) - 1
    reaches = [min(_NEIGHBOURS, at, last - at) for at in range(len(slopes))]
    trend = np.array([np.median(slopes[at - reach : at + reach + 1]) for at, reach in enumerate(reaches)])
    for end, next_to_it, third in ((0, 1, 2), (last, last - 1, last - 2)):
        near, far = trend[next_to_it], trend[third if len(slopes) > MINIMUM_STEPS else next_to_it]
        trend[end] = np.median([slopes[end], near, 3 * near - 2 * far])
    return trend
