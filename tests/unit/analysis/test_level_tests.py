from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from kafka_pareto.analysis.level_tests import Mean, mean_of, relative_to_best

pytestmark = pytest.mark.fast


def test_a_mean_has_student_s_interval():
    values = np.array([12.0, 15.0, 11.0, 14.0, 13.0])
    mean = mean_of(values)
    low, high = stats.t.interval(0.95, 4, loc=13.0, scale=stats.sem(values))
    assert (mean.value, mean.low, mean.high) == pytest.approx((13.0, low, high))
    assert mean.sd == pytest.approx(math.sqrt(2.5))


@pytest.mark.parametrize(
    ("values", "mean", "sd"), [([], math.nan, math.nan), ([7.0], 7.0, math.nan), ([23.0] * 5, 23.0, 0.0)]
)
def test_no_value_one_and_equal_ones_whose_spread_a_tool_may_hide_have_no_interval(
    values: list[float], mean: float, sd: float
):
    found = mean_of(np.array(values))
    assert [found.value, found.sd] == pytest.approx([mean, sd], abs=0, nan_ok=True)
    assert np.isnan([found.low, found.high]).all()


def test_times_are_relative_to_the_fastest_as_hyperfine_prints_them():
    # As printed: 58.833 ± 0.218 s, 30.406 ± 0.086 s and 9.090 ± 0.032 s are 6.47 ± 0.03, 3.34 ± 0.02 and 1.00.
    printed = [(58.833, 0.218), (30.406, 0.086), (9.090, 0.032)]
    relatives = relative_to_best([Mean(value, sd=sd) for value, sd in printed], maximised=False)
    assert [round(each.value, 2) for each in relatives] == [6.47, 3.34, 1.00]
    assert [round(each.sd, 2) for each in relatives[:2]] == [0.03, 0.02]
    assert math.isnan(relatives[2].sd)


def test_where_more_is_better_half_the_throughput_is_twice_as_far_from_the_best():
    relatives = relative_to_best([Mean(50.0, sd=5.0), Mean(100.0, sd=10.0)], maximised=True)
    assert [each.value for each in relatives] == [2.0, 1.0]
    assert relatives[0].sd == pytest.approx(2 * math.hypot(0.1, 0.1))


def test_a_level_without_a_mean_or_a_spread_has_no_relative_one():
    unmeasured, single, best = relative_to_best([Mean(), Mean(4.0), Mean(2.0, sd=0.1)], maximised=False)
    assert math.isnan(unmeasured.value)
    assert single.value == 2.0
    assert math.isnan(single.sd)
    assert best.value == 1.0


@pytest.mark.parametrize("best", [0.0, -1.0])
def test_nothing_is_relative_to_a_best_mean_of_zero_or_below(best: float):
    relatives = relative_to_best([Mean(best, sd=1.0), Mean(3.0, sd=1.0)], maximised=False)
    assert all(math.isnan(each.value) for each in relatives)
