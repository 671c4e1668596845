"""Computes Student's distribution, and his test and interval of one sample's mean. A leaf, for all that average.

By `scipy.special`: `scipy.stats` gives the same numbers, takes a second to import, which every step of a campaign would
show, and a hundred times as long per test, which a table with hundreds of cells would.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from kafka_pareto.analysis.rounding import Values


@dataclass(frozen=True)
class Student:
    """Holds a mean with its interval.

    Attributes:
        mean: Of the sample.
        low: Lower end of the interval.
        high: Upper end of the interval.
        p_value: Two-sided, of a mean of zero; it agrees with the interval.
    """

    mean: float
    low: float
    high: float
    p_value: float


def student_above(t: Any, freedom: Any) -> Any:
    """Returns the probability of values above `t`. Numbers or arrays that broadcast."""
    return special.stdtr(freedom, -t)


def student_critical(above: float, freedom: Any) -> Any:
    """Returns the value that `above` of the distribution lies above. Numbers or arrays that broadcast."""
    return -special.stdtrit(freedom, above)


def student(values: Values, confidence: float) -> Student:
    """Returns mean, interval and p-value of at least two values that differ.

    Args:
        values: Shape (n,).
        confidence: Of the interval.
    """
    mean, freedom = float(np.mean(values)), len(values) - 1
    error = float(np.std(values, ddof=1)) / np.sqrt(len(values))
    half_width = error * student_critical((1 - confidence) / 2, freedom)
    return Student(
        mean=mean,
        low=float(mean - half_width),
        high=float(mean + half_width),
        p_value=float(2 * student_above(abs(mean) / error, freedom)),
    )
