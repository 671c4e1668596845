from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from kafka_pareto.analysis.paired_tests import mean_change
from kafka_pareto.analysis.ratios import ByBlock, Combination, Ratio, geometric_ratio, interactions, ratio_of_levels
from tests.unit.made_parts import noise

pytestmark = pytest.mark.fast


def unknown_fields(ratio: Ratio) -> list[str]:
    return [name for name, value in vars(ratio).items() if math.isnan(value)]


def test_the_ratio_of_a_level_is_the_geometric_mean_of_the_blocks_that_measured_both():
    ratio = ratio_of_levels({0: 10.0, 1: 11.0, 2: 1e6}, {1: 33.0, 0: 20.0, 3: 1e-6})
    assert ratio == geometric_ratio(np.log([2.0, 3.0]))
    assert ratio.value == pytest.approx(math.sqrt(6))


def test_a_block_effect_on_both_levels_cancels():
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


@pytest.mark.parametrize(
    ("ratios", "unknown"),
    [([3.0], ["low", "high", "p_value"]), ([1.5] * 5, ["low", "high"]), ([1.0] * 5, ["low", "high", "p_value"])],
)
def test_one_block_or_the_same_ratio_in_every_block_gives_no_interval(ratios: list[float], unknown: list[str]):
    ratio = geometric_ratio(np.log(ratios))
    assert ratio.value == pytest.approx(ratios[0])
    assert unknown_fields(ratio) == unknown
    if "p_value" not in unknown:
        assert ratio.p_value == stats.binomtest(5, 5).pvalue


BATCH, LINGER = (16384, 65536, 1048576), (0, 10, 50)
REFERENCE = (1048576, 10)


def grid(planted: dict[Combination, float], sd: float = 0.02) -> dict[Combination, ByBlock]:
    """Two factors that multiply, what single combinations bring beyond that, a share per block, and noise."""
    combinations = list(product(BATCH, LINGER))
    noisy = noise(np.random.default_rng(4), len(combinations), sd=sd)
    own = {16384: 0.2, 65536: 0.5, 1048576: 1.0, 0: 0.6, 10: 1.0, 50: 1.1}
    return {
        each: dict(enumerate(1000 * own[each[0]] * own[each[1]] * planted.get(each, 1.0) * row))
        for each, row in zip(combinations, noisy, strict=True)
    }


def test_a_planted_interaction_is_found_with_its_size_and_the_others_are_not():
    found = interactions(grid({(16384, 0): 1.5}), REFERENCE)
    assert found[16384, 0].low < 1.5 < found[16384, 0].high
    assert found[16384, 0].p_value < 0.001
    assert found[16384, 0].value == pytest.approx(1.5, rel=0.06)
    assert min(ratio.p_value for each, ratio in found.items() if each != (16384, 0)) > 0.05


def test_combinations_with_a_reference_level_have_no_interaction():
    assert set(interactions(grid({}), REFERENCE)) == {(16384, 0), (16384, 50), (65536, 0), (65536, 50)}


def test_factors_that_multiply_exactly_do_not_interact():
    for ratio in interactions(grid({}, sd=0.0), REFERENCE).values():
        assert ratio.value == pytest.approx(1.0)
        assert math.isnan(ratio.p_value)


def test_only_blocks_that_measured_all_four_corners_count():
    cells = {each: dict(by_block) for each, by_block in grid({}).items()}
    del cells[1048576, 0][3], cells[16384, 10][4]
    whole = interactions({each: {at: by[at] for at in (0, 1, 2)} for each, by in cells.items()}, REFERENCE)
    assert interactions(cells, REFERENCE)[16384, 0] == whole[16384, 0]


@pytest.mark.parametrize("corner", [{}, {0: 0.0, 1: 5.0, 2: 5.0}])
def test_a_missing_or_zero_corner_gives_no_interaction(corner: dict[int, float]):
    found = interactions({**grid({}), (16384, 10): corner}, REFERENCE)
    assert set(found) == {(65536, 0), (65536, 50)}
