from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from kafka_pareto.analysis.studentized_range import studentized_range_sf

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("groups", "freedom", "critical"),
    # The upper 5 % points of the studentized range, as tables print them (Harter, 1960).
    [(2, 4, 3.93), (3, 10, 3.88), (5, 8, 4.89), (6, 20, 4.45), (10, 5, 6.99), (20, 60, 5.24)],
)
def test_the_critical_values_of_printed_tables_leave_five_percent(groups: int, freedom: float, critical: float):
    tail = studentized_range_sf(np.array([critical]), groups, np.array([float(freedom)]))
    assert tail == pytest.approx(0.05, abs=5e-4)


@pytest.mark.parametrize(("groups", "freedom"), [(2, 1.0), (6, 1.3), (6, 7.7), (20, 400.0)])
def test_the_tail_is_that_of_scipy(groups: int, freedom: float):
    statistics = np.array([0.0, 2.5, 7.0])
    expected = stats.studentized_range.sf(statistics, groups, freedom)
    tail = studentized_range_sf(statistics, groups, np.full(3, freedom))
    assert tail == pytest.approx(expected, abs=1e-9)


def test_a_range_that_no_group_reaches_has_no_probability():
    tail = studentized_range_sf(np.array([1e9, 1e12]), 4, np.array([8.0, 8.0]))
    assert tail == pytest.approx(0.0, abs=1e-12)
