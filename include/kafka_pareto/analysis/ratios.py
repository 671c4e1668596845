"""Estimates ratios of what one block measured, and interactions in a grid, with interval and p-value. Pure functions.

A ratio of 1 is no difference. Intervals are 95 %.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from kafka_pareto.analysis.paired_tests import CONFIDENCE, MINIMUM_BLOCKS, mean_change
from kafka_pareto.analysis.rounding import ROUNDING, Values, has_spread
from kafka_pareto.analysis.student import student
from kafka_pareto.study.factors import FactorValue

ByBlock: TypeAlias = Mapping[int, float]
"""One value for each block that measured it."""
Combination: TypeAlias = tuple[FactorValue, FactorValue]
_NAN = float("nan")


@dataclass(frozen=True)
class Ratio:
    """Holds a ratio; NaN where the data cannot give a number.

    Attributes:
        value: The ratio.
        low: Lower end of the 95 % interval.
        high: Upper end of the 95 % interval.
        p_value: Two-sided, of 1.
    """

    value: float = _NAN
    low: float = _NAN
    high: float = _NAN
    p_value: float = _NAN


def ratio_of_levels(reference: ByBlock, level: ByBlock) -> Ratio:
    """Returns the ratio of a level to the reference, from the blocks that measured both.

    It is the geometric mean of the blocks' ratios: what a block does to both sides cancels, and each block counts
    alike. A ratio of means leans on the blocks with the larger values, so that few blocks that differ much claim more
    differences than their level says. Where a block has a value of zero or below, there is no geometric mean, and the
    ratio is that of the means, by `paired_tests.mean_change`. There is none unless both
    means are above zero.
    """
    blocks = sorted(reference.keys() & level.keys())
    if not blocks:
        return Ratio()
    sides = np.array([[side[block] for block in blocks] for side in (reference, level)])
    if np.min(sides) > 0:
        return geometric_ratio(np.log(sides[1] / sides[0]))
    if np.min(np.mean(sides, axis=1)) <= 0:
        return Ratio()
    change = mean_change(*sides)
    return Ratio(1 + change.change_fraction, 1 + change.low_fraction, 1 + change.high_fraction, change.p_value)


def geometric_ratio(log_ratios: Values) -> Ratio:
    """Returns the geometric mean of ratios, with Student's interval and test of their logs.

    There is no interval for a single block, nor where every block has the same ratio. Then the p-value is the sign
    test's, as `paired_tests.mean_change` has it.

    Args:
        log_ratios: One natural logarithm per block, shape (blocks,).
    """
    blocks = len(log_ratios)
    if not blocks:
        return Ratio()
    mean = float(np.mean(log_ratios))
    if blocks < MINIMUM_BLOCKS:
        return Ratio(math.exp(mean))
    if not has_spread(log_ratios, scale=1.0):
        return Ratio(math.exp(mean), p_value=0.5 ** (blocks - 1) if abs(mean) > ROUNDING else _NAN)
    found = student(log_ratios, CONFIDENCE)
    return Ratio(math.exp(mean), float(np.exp(found.low)), float(np.exp(found.high)), found.p_value)


def interactions(grid: Mapping[Combination, ByBlock], reference: Combination) -> dict[Combination, Ratio]:
    """Returns, for each combination of two changed levels, its ratio over the product of both levels' own ratios.

    With `y(a, b)` the value at a combination and `r` the reference's levels, it is
    `y(a, b) y(r, r) / (y(a, r) y(r, b))`: 1 where the factors do not interact, above 1 where together they bring more
    than each alone promises. It is the interaction contrast of a 2 x 2 table on the log scale (Montgomery, Design and
    Analysis of Experiments, 8th ed., section 5.1). Each block that measured all four gives one contrast; Student's
    interval and test are on these.

    Args:
        grid: The values by block of each combination.
        reference: The combination of both reference levels.

    Returns:
        The combinations in the grid's order, without those that no block measured with all four, and those with a value
        of zero or below.
    """
    found = {}
    for combination in grid:
        if combination[0] == reference[0] or combination[1] == reference[1]:
            continue
        corners = (combination, reference, (combination[0], reference[1]), (reference[0], combination[1]))
        contrasts = _contrasts([grid.get(corner, {}) for corner in corners])
        if len(contrasts):
            found[combination] = geometric_ratio(contrasts)
    return found


def _contrasts(corners: list[ByBlock]) -> Values:
    blocks = sorted(set.intersection(*(set(corner) for corner in corners)))
    values = np.array([[corner[block] for block in blocks] for corner in corners])
    # A ratio to zero is none, and to leave out only the blocks with a zero would flatter.
    if not blocks or np.min(values) <= 0:
        return np.array([])
    both, neither, first, second = np.log(values)
    contrasts: Values = both + neither - first - second
    return contrasts
