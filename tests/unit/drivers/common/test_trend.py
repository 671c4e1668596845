"""Slopes of values that depend on the ones before."""

from __future__ import annotations

import numpy as np
import pytest

from kafka_pareto.analysis.student import student_critical
from kafka_pareto.drivers.common.trend import trend_of

pytestmark = pytest.mark.fast

TIMES = np.arange(40.0)


def series(rng: np.random.Generator, share: float, slope: float = 0.0) -> np.ndarray:
    """A line, and noise of which this share carries over, settled from the beginning."""
    values = rng.normal(0, 1 / np.sqrt(1 - share**2), 1)
    for step in rng.normal(size=len(TIMES) - 1):
        values = np.append(values, share * values[-1] + step)
    return values + slope * TIMES


def test_a_line_has_its_slope_and_no_error() -> None:
    found = trend_of(TIMES + 7, 3 * TIMES - 5)

    assert found.slope == pytest.approx(3)
    assert found.error == pytest.approx(0, abs=1e-9)


def test_the_slope_of_a_random_walk_is_from_its_first_value_to_its_last() -> None:
    walk = np.cumsum(np.concatenate([np.ones(20), -np.ones(20)]))

    found = trend_of(TIMES, walk)
    steps = np.diff(walk)
    assert found.slope == pytest.approx((walk[-1] - walk[0]) / 39)
    assert found.error == pytest.approx(np.std(steps, ddof=1) / np.sqrt(39))
    assert found.freedom == 38


@pytest.mark.parametrize("share", [-0.5, 0.0, 0.5, 0.8])
def test_the_interval_contains_the_slope_however_autocorrelated_the_values(share: float) -> None:
    held, slope = 0, 0.3
    for seed in range(400):
        found = trend_of(TIMES, series(np.random.default_rng(seed), share, slope))
        reach = found.error * student_critical(0.025, found.freedom)
        held += abs(found.slope - slope) <= reach

    assert held / 400 >= 0.93
