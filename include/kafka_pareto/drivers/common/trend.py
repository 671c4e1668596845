"""Fit a line to an autocorrelated time series."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_Values = npt.NDArray[np.float64]

LEAST_POINTS = 6


@dataclass(frozen=True)
class Trend:
    """The slope of a line.

    Attributes:
        slope: In units of y per unit of x.
        error: Its standard error.
        freedom: Student's degrees of freedom of the error.
    """

    slope: float
    error: float
    freedom: int


def trend_of(x: _Values, y: _Values) -> Trend:
    """Estimate the slope by generalized least squares with first-order autocorrelated residuals.

    In a queue each wait depends on the one before, so independent residuals would make the error too small. The
    residuals' autocorrelation is corrected for the bias of a fitted line (van Giersbergen, Economics Letters 89, 2005),
    then raised by one standard error and limited to 0 to 1. At 1 the values are a random walk, and the slope is the
    last value minus the first, divided by their distance (Prais and Winsten, Cowles Commission Discussion Paper 383,
    1954).

    With 40 values a 95 % interval covers the slope in 95 of 100 cases up to an autocorrelation of 0.8, and in 78 for a
    random walk, whose autocorrelation is underestimated. If the values may be a random walk, the error needs a lower
    bound from elsewhere.

    Args:
        x: Times in rising order, shape (n,) with n of at least `LEAST_POINTS`.
        y: The values, same shape.
    """
    number = len(x)
    left = y - np.polyval(np.polyfit(x - x[0], y, 1), x - x[0])
    spread = float(left[:-1] @ left[:-1])
    found = float(left[1:] @ left[:-1]) / spread if spread else 0.0
    share = float(np.clip(found + (2 + 4 * found) / number, 0, 1))
    share = min(share + float(np.sqrt((1 - share**2) / number)), 1.0)
    columns = np.column_stack([np.ones(number), x - x[0], y])
    first = np.sqrt(1 - share**2) * columns[:1]
    level, times, values = np.vstack([first, columns[1:] - share * columns[:-1]]).T
    design = np.column_stack([level, times])
    if share == 1:  # a random walk has no level
        design, values = times[1:, None], values[1:]
    inverse = np.linalg.inv(design.T @ design)
    solved = inverse @ design.T @ values
    residual = values - design @ solved
    freedom = len(values) - design.shape[1]
    return Trend(float(solved[-1]), float(np.sqrt(residual @ residual / freedom * inverse[-1, -1])), freedom)
