"""Estimates ratios of what one block measured, with interval and p-value. Pure functions.

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

ByBlock: TypeAlias = Mapping[int, float]
"""One value for each block that measured it."""
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


def ratio_of_means(reference: Values, level: Values) -> Ratio:
    """Returns the ratio of the means, level over reference, from differences within blocks.

    It is `paired_tests.mean_change` as a ratio. There is none unless both means are above zero.

    Args:
        reference: One value per block that measured both, shape (blocks,).
        level: The level's values of the same blocks, shape (blocks,).
    """
    if not len(level) or min(np.mean(reference), np.mean(level)) <= 0:
        return Ratio()
    change = mean_change(reference, level)
    return Ratio(1 + change.change_fraction, 1 + change.low_fraction, 1 + change.high_fraction, change.p_value)


def ratio_of_levels(reference: ByBlock, level: ByBlock) -> Ratio:
    """Returns the ratio of the means in the blocks that measured both, level over reference."""
    blocks = sorted(reference.keys() & level.keys())
    return ratio_of_means(np.array([reference[at] for at in blocks]), np.array([level[at] for at in blocks]))


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
