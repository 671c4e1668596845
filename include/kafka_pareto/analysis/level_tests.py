"""Summarize the levels of a factor: means and ranks."""

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
    """A mean with its standard deviation and Student's 95 % interval; NaN if the data give no number."""

    value: float = _NAN
    low: float = _NAN
    high: float = _NAN
    sd: float = _NAN


@dataclass(frozen=True)
class Relative:
    """A level's factor behind the best: 1 at the best, 2 at half its performance. `sd` is NaN at the best level."""

    value: float = _NAN
    sd: float = _NAN


def mean_of(values: Values) -> Mean:
    """Return mean, interval and standard deviation of a level's repetitions.

    A single value has no interval, nor have equal values: whole milliseconds hide their spread.
    """
    if len(values) < 2:
        return Mean(float(values[0])) if len(values) else Mean()
    if not has_spread(values):
        return Mean(float(np.mean(values)), sd=0.0)
    found = student(values, CONFIDENCE)
    return Mean(found.mean, found.low, found.high, sd=float(np.std(values, ddof=1)))


def relative_to_best(means: Sequence[Mean], maximised: bool) -> list[Relative]:
    """Return each level's factor behind the best level, as hyperfine's column `Relative`.

    The ratio of the means, its standard deviation by linear error propagation for independent means (hyperfine,
    `src/benchmark/relative_speed.rs`). All are NaN if the best mean is not above zero.
    """
    known = [each for each in means if not math.isnan(each.value)]
    if not known:
        return [Relative() for _ in means]
    best = (max if maximised else min)(known, key=lambda each: each.value)
    relatives = []
    for level in means:
        if math.isnan(level.value) or min(level.value, best.value) <= 0:
            relatives.append(Relative())
        elif level is best:
            relatives.append(Relative(1.0))
        else:
            ratio = best.value / level.value if maximised else level.value / best.value
            sd = ratio * math.hypot(level.sd / level.value, best.sd / best.value)
            relatives.append(Relative(ratio, sd))
    return relatives
