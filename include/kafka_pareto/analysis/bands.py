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
    slope on axes with logarithms. The trend at a step is the median slope of the up to five steps around, its own
    among them. Tukey's running median (Exploratory Data Analysis, 1977, chapter 7) follows a curve that bends one way,
    and keeps off a single jump. Each block gives one difference from the trend; interval and p-value are Student's on
    these, not adjusted for the number of steps.

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
    found = []
    for at, (lower, upper) in enumerate(pairwise(sorted(curve))):
        beyond = [(row[at] - _trend(row, at)) * widths[at] for row in slopes]
        ratio = geometric_ratio(np.array([each for each in beyond if np.isfinite(each)]))
        if not math.isnan(ratio.value):
            found.append(Step(lower, upper, ratio))
    return found


def _logs(curve: Mapping[int | float, ByBlock]) -> Values:
    """Returns the logs of the values, shape (blocks, levels); NaN where a block has none above zero."""
    blocks = sorted(set().union(*curve.values()))
    values = np.array([[curve[level].get(block, math.nan) for level in sorted(curve)] for block in blocks])
    return np.log(np.where(values > 0, values, np.nan)).reshape(len(blocks), len(curve))


def _trend(slopes: Values, at: int) -> float:
    """Returns the median slope around a step of one block; NaN where fewer than three are known."""
    around = slopes[max(0, at - _NEIGHBOURS) : at + _NEIGHBOURS + 1]
    known = around[np.isfinite(around)]
    return float(np.median(known)) if len(known) >= MINIMUM_STEPS else math.nan
