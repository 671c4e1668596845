from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from kafka_pareto.analysis.student import student

pytestmark = pytest.mark.fast


def test_student_s_sleep_data_give_the_published_test():
    # The extra hours of sleep of ten patients (Student, Biometrika 6, 1908): t = -4.0621, p = 0.002833.
    extra_hours = np.array([-1.2, -2.4, -1.3, -1.3, 0.0, -1.0, -1.8, -0.8, -4.6, -1.4])
    found = student(extra_hours, 0.95)
    assert found.mean == pytest.approx(-1.58)
    assert (found.low, found.high) == pytest.approx((-2.4598858, -0.7001142))
    assert found.p_value == pytest.approx(0.002833, abs=5e-7)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("size", [2, 3, 40])
def test_mean_interval_and_p_value_are_those_of_scipy(size: int, confidence: float):
    values = np.random.default_rng(size).normal(1, 2, size)
    found, expected = student(values, confidence), stats.ttest_1samp(values, 0.0)
    interval = expected.confidence_interval(confidence)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-12)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-12)
