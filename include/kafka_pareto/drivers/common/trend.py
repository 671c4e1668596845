"""Fits a line to values that follow each other in time and depend on the ones before. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_Values = npt.NDArray[np.float64]

LEAST_POINTS = 6


@dataclass(frozen=True)
class Trend:
    """Holds the slope of a line.

    Attributes:
        slope: In units of y for each one of x.
        error: Its standard error.
        freedom: Student's degrees of freedom of the error.
    """

    slope: float
    error: float
    freedom: int


def trend_of(x: _Values, y: _Values) -> Trend:
    """Returns the slope by generalised least squares, where each residual carries over a share of the one before.

    An error that takes residuals as independent is too small for a queue: what waits now waits in a moment, too. The
    share is the residuals' autocorrelation, less its bias where a line was fitted (van Giersbergen, Economics Letters
    89, 2005) and one standard error more, from 0 to 1. At 1 the values are a random walk, and the slope is the last
    less the first (Prais and Winsten, Cowles Commission Discussion Paper 383, 1954).

    With 40 values an interval of 95 % covers the slope in 95 of 100 cases up to a share of 0.8, and in 78 for a random
    walk, whose share is estimated too low. Where values may be one, the error needs a lower bound from elsewhere.

    Args:
        x: Times in rising order, shape (n,) with n of at least `LEAST_POINTS`.
        y: The values then.
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
    if share == 1:  # a level says nothing of a random walk
        design, values = times[1:, None], values[1:]
    inverse = np.linalg.inv(design.T @ design)
    solved = inverse @ design.T @ values
    residual = values - design @ solved
    freedom = len(values) - design.shape[1]
    return Trend(float(solved[-1]), float(np.sqrt(residual @ residual / freedom * inverse[-1, -1])), freedom)
