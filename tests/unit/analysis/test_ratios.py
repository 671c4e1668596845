from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from kafka_pareto.analysis.paired_tests import mean_change
from kafka_pareto.analysis.ratios import Ratio, geometric_ratio, ratio_of_levels, ratio_of_means

pytestmark = pytest.mark.fast


def unknown_fields(ratio: Ratio) -> list[str]:
    return [name for name, value in vars(ratio).items() if math.isnan(value)]


def test_a_ratio_of_means_is_the_paired_change_and_one():
    rng = np.random.default_rng(5)
    reference, level = rng.lognormal(3, 0.1, 5), rng.lognormal(3.3, 0.1, 5)
    ratio, change = ratio_of_means(reference, level), mean_change(reference, level)
    assert ratio.value == pytest.approx(np.mean(level) / np.mean(reference))
    assert (ratio.low - 1, ratio.high - 1) == pytest.approx((change.low_fraction, change.high_fraction))
    assert ratio.p_value == change.p_value


def test_levels_are_compared_in_the_blocks_that_measured_both():
    ratio = ratio_of_levels({0: 10.0, 1: 11.0, 2: 1e6}, {1: 22.0, 0: 20.4, 3: 1e-6})
    assert ratio == ratio_of_means(np.array([10.0, 11.0]), np.array([20.4, 22.0]))


@pytest.mark.parametrize("level", [{}, {0: 0.0, 1: 0.0}, {0: -1.0, 1: -2.0}])
def test_a_level_without_values_above_zero_has_no_ratio(level: dict[int, float]):
    assert len(unknown_fields(ratio_of_levels({0: 1.0, 1: 2.0}, level))) == 4


def test_a_geometric_ratio_has_student_s_interval_of_the_logs():
    logs = np.log([1.2, 1.5, 1.3, 1.25])
    ratio, test = geometric_ratio(logs), stats.ttest_1samp(logs, 0.0)
    interval = test.confidence_interval(0.95)
    assert ratio.value == pytest.approx(stats.gmean([1.2, 1.5, 1.3, 1.25]))
    assert (ratio.low, ratio.high) == pytest.approx((math.exp(interval.low), math.exp(interval.high)))
    assert ratio.p_value == pytest.approx(test.pvalue)


def test_one_block_gives_a_ratio_and_no_interval():
    ratio = geometric_ratio(np.log([3.0]))
    assert ratio.value == pytest.approx(3.0)
    assert unknown_fields(ratio) == ["low", "high", "p_value"]


def test_the_same_ratio_in_every_block_has_the_sign_test_s_p_value():
    ratio = geometric_ratio(np.log(np.full(5, 1.5)))
    assert ratio.value == pytest.approx(1.5)
    assert ratio.p_value == stats.binomtest(5, 5).pvalue
    assert unknown_fields(ratio) == ["low", "high"]
    assert unknown_fields(geometric_ratio(np.zeros(5))) == ["low", "high", "p_value"]
