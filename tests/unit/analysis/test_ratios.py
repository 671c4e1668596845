from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from kafka_pareto.analysis.paired_tests import mean_change
from kafka_pareto.analysis.ratios import Ratio, geometric_ratio, ratio_of_levels

pytestmark = pytest.mark.fast


def unknown_fields(ratio: Ratio) -> list[str]:
    return [name for name, value in vars(ratio).items() if math.isnan(value)]


def test_the_ratio_of_a_level_is_the_geometric_mean_of_the_blocks_that_measured_both():
    ratio = ratio_of_levels({0: 10.0, 1: 11.0, 2: 1e6}, {1: 33.0, 0: 20.0, 3: 1e-6})
    assert ratio == geometric_ratio(np.log([2.0, 3.0]))
    assert ratio.value == pytest.approx(math.sqrt(6))


def test_what_a_block_does_to_both_levels_cancels():
    reference, level = {0: 10.0, 1: 11.0, 2: 12.0}, {0: 20.4, 1: 22.0, 2: 25.0}
    slowed = [{block: value * 7.0**block for block, value in side.items()} for side in (reference, level)]
    assert list(vars(ratio_of_levels(*slowed)).values()) == pytest.approx(
        list(vars(ratio_of_levels(reference, level)).values())
    )


def test_values_with_a_zero_among_them_have_the_ratio_of_their_means():
    ratio = ratio_of_levels(dict(enumerate([2.0, 3.0, 4.0])), dict(enumerate([0.0, 5.0, 7.0])))
    change = mean_change(np.array([2.0, 3.0, 4.0]), np.array([0.0, 5.0, 7.0]))
    assert ratio.value == pytest.approx(12 / 9)
    assert (ratio.low - 1, ratio.high - 1) == pytest.approx((change.low_fraction, change.high_fraction))
    assert ratio.p_value == change.p_value


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
