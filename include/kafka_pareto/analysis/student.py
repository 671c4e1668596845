"""Computes Student's test and interval of one sample's mean. A leaf, for all that average over blocks.

By scipy's functions of the distribution: `scipy.stats.ttest_1samp` gives the same numbers and takes a hundred times as
long, of which a table with hundreds of cells would show.
"""

from __future__ import annotations

from dataclasses import dataclass

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


def student(values: Values, confidence: float) -> Student:
    """Returns mean, interval and p-value of at least two values that differ.

    Args:
        values: Shape (n,).
        confidence: Of the interval.
    """
    mean, freedom = float(np.mean(values)), len(values) - 1
    error = float(np.std(values, ddof=1)) / np.sqrt(len(values))
    half_width = error * special.stdtrit(freedom, (1 + confidence) / 2)
    return Student(
        mean=mean,
        low=float(mean - half_width),
        high=float(mean + half_width),
        p_value=float(2 * special.stdtr(freedom, -abs(mean) / error)),
    )
