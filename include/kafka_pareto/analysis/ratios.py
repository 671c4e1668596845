"""Estimate ratios within blocks, and interactions in a grid, with 95 % interval and p-value."""

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
    """A ratio with its 95 % interval and the two-sided p-value of 1; NaN if the data give no number."""

    value: float = _NAN
    low: float = _NAN
    high: float = _NAN
    p_value: float = _NAN


def ratio_of_levels(reference: ByBlock, level: ByBlock) -> Ratio:
    """Return the ratio of a level to the reference, from the blocks that measured both.

    The geometric mean of the blocks' ratios: block effects cancel, and each block has equal weight. A ratio of means
    favors blocks with larger values and rejects too often. With a value of zero or below there is no geometric mean;
    then it is the ratio of means (`paired_tests.mean_change`), if both are above zero.
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
    """Return the geometric mean of ratios, with Student's interval and test on their logs, shape (blocks,).

    A single block has no interval, nor have identical ratios, whose p-value is the sign test's.
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
    """Return, for each combination of two changed levels, its ratio over the product of both levels' own ratios.

    With `y(a, b)` the value at a combination and `r` the reference's levels, it is `y(a, b) y(r, r) / (y(a, r) y(r,
    b))`: 1 without interaction, above 1 if both together gain more than each alone predicts. It is the interaction
    contrast of a 2 x 2 table on the log scale (Montgomery, Design and Analysis of Experiments, 8th ed., section 5.1),
    one per block that measured all four, with Student's interval and test. Combinations without such a block, or with a
    value of zero or below, are excluded.
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
    # A ratio to zero is undefined, and excluding only the blocks with a zero would bias the result upwards.
    if not blocks or np.min(values) <= 0:
        return np.array([])
    both, neither, first, second = np.log(values)
    contrasts: Values = both + neither - first - second
    return contrasts
