"""Describes the levels of a factor side by side: their means, and how they rank. Pure functions.

How a level compares with the reference is in `ratios`, and which levels are told apart in `letters`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kafka_pareto.analysis.paired_tests import CONFIDENCE
from kafka_pareto.analysis.rounding import Values, has_spread
from kafka_pareto.analysis.student import student

_NAN = float("nan")


@dataclass(frozen=True)
class Mean:
    """Holds a mean with Student's 95 % interval; NaN where the data cannot give a number.

    Attributes:
        value: The mean.
        low: Lower end of the interval.
        high: Upper end of the interval.
        sd: Standard deviation, n-1.
    """

    value: float = _NAN
    low: float = _NAN
    high: float = _NAN
    sd: float = _NAN


@dataclass(frozen=True)
class Relative:
    """Holds by what factor a level is behind the best one; NaN where there is none.

    Attributes:
        value: 1 at the best level, 2 where a level does half as well.
        sd: Its standard deviation; NaN at the best level, which is compared with itself.
    """

    value: float = _NAN
    sd: float = _NAN


def mean_of(values: Values) -> Mean:
    """Returns mean, interval and standard deviation of a level's repetitions.

    There is no interval for a single value, nor for values that are all the same: a tool that shows whole milliseconds
    hides their spread.

    Args:
        values: Shape (repetitions,).
    """
    if len(values) < 2:
        return Mean(float(values[0])) if len(values) else Mean()
    if not has_spread(values):
        return Mean(float(np.mean(values)), sd=0.0)
    found = student(values, CONFIDENCE)
    return Mean(found.mean, found.low, found.high, sd=float(np.std(values, ddof=1)))


def relative_to_best(means: Sequence[Mean], maximised: bool) -> list[Relative]:
    """Returns each level's factor behind the best level, as hyperfine's column `Relative` has it.

    That is the ratio of the two means, with the standard deviation that linear error propagation gives for independent
    means (hyperfine, `src/benchmark/relative_speed.rs`). Where the best mean is not above zero, nothing is relative to
    it.

    Args:
        means: Of the levels.
        maximised: True where more is better.
    """
    known = [each for each in means if not math.isnan(each.value)]
    if not known:
        return [Relative() for _ in means]
    best = (max if maximised else min)(known, key=lambda each: each.value)
    return [_relative(each, best, maximised) for each in means]


def _relative(level: Mean, best: Mean, maximised: bool) -> Relative:
    if math.isnan(level.value) or min(level.value, best.value) <= 0:
        return Relative()
    if level is best:
        return Relative(1.0)
    ratio = best.value / level.value if maximised else level.value / best.value
    return Relative(ratio, ratio * math.hypot(level.sd / level.value, best.sd / best.value))
