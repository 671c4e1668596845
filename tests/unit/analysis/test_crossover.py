from __future__ import annotations

import math

import numpy as np
import pytest

from kafka_pareto.analysis.crossover import Points, all_pairs, crossing_of, crossing_of_ratios, pooled_ratio

pytestmark = [pytest.mark.fast, pytest.mark.slow]

PLACES = np.geomspace(100, 50_000, 22)
CROSSING, BLOCKS = 5_000.0, 5


def made(slope: float, seed: int = 1, sd: float = 0.02, blocks: int = BLOCKS) -> Points:
    """Both levels' values, whose log-ratio passes 0 at the crossing; each block has its own speed."""
    rng = np.random.default_rng(seed)
    points = {}
    for place in PLACES:
        pace = np.exp(rng.normal(0, 0.3, blocks))
        ratio = np.exp(slope * math.log(place / CROSSING) + rng.normal(0, sd, blocks))
        points[float(place)] = (dict(enumerate(100 * pace * ratio)), dict(enumerate(100 * pace)))
    return points


@pytest.mark.parametrize("slope", [0.1, -0.1])
def test_the_crossing_lies_in_its_interval_whichever_way_the_ratio_passes_one(slope: float) -> None:
    found = crossing_of(made(slope, seed=3), is_rising=slope > 0, rng=np.random.default_rng(2))
    assert found is not None
    assert 0.6 * CROSSING < found.low < CROSSING < found.high < 1.7 * CROSSING
    assert found.low < found.at < found.high


def test_the_interval_contains_the_crossing_in_most_series_and_is_narrow() -> None:
    found = [crossing_of(made(0.05, seed, 0.05), is_rising=True, rng=np.random.default_rng(seed)) for seed in range(40)]
    ends = [(each.low, each.high) for each in found if each and math.isfinite(each.low) and math.isfinite(each.high)]
    assert len(ends) == 40
    assert sum(low <= CROSSING <= high for low, high in ends) >= 36  # of intervals half as wide 32 would
    assert np.median([high / low for low, high in ends]) < 5  # the points reach over a factor of 500


@pytest.mark.parametrize("is_rising", [True, False])
def test_a_series_that_stays_on_one_side_has_no_crossing_whatever_its_noise(is_rising: bool) -> None:
    above = {place: (dict.fromkeys(range(BLOCKS), 2.0), dict.fromkeys(range(BLOCKS), 1.0)) for place in (1.0, 2.0)}
    assert crossing_of(above, is_rising=is_rising, rng=np.random.default_rng(1)) is None
    for seed in range(20):
        noisy = made(0.0, seed)
        apart = {place: ({b: 1.2 * v for b, v in first.items()}, second) for place, (first, second) in noisy.items()}
        assert crossing_of(apart, is_rising=is_rising, rng=np.random.default_rng(seed)) is None


def test_an_end_of_the_interval_outside_the_points_is_not_known() -> None:
    near = {place: pair for place, pair in made(0.1, seed=3).items() if place > 4_000}
    found = crossing_of(near, is_rising=True, rng=np.random.default_rng(2))
    assert found is not None
    assert math.isnan(found.low)
    assert found.at < found.high


def test_one_block_and_blocks_that_miss_a_point_give_none() -> None:
    assert crossing_of(made(0.1, blocks=1), is_rising=True, rng=np.random.default_rng(1)) is None
    missing = {**made(0.1), min(PLACES): ({0: 1.0}, {0: 1.0})}
    assert crossing_of(missing, is_rising=True, rng=np.random.default_rng(1)) is None


def test_a_pooled_ratio_is_the_mean_of_the_points_logs_within_blocks() -> None:
    points = {
        1.0: ({0: 2.0, 1: 2.0, 2: 2.2}, {0: 1.0, 1: 1.0, 2: 1.0}),
        2.0: ({0: 8.0, 1: 8.0, 2: 8.0}, {0: 1.0, 1: 1.0, 2: 1.0}),
    }
    found = pooled_ratio(points)
    assert found.value == pytest.approx(math.sqrt(2.0 * 8.0) * 1.1 ** (1 / 6))
    assert found.low < found.value < found.high
    assert math.isnan(pooled_ratio({}).value)


def test_published_ratios_cross_by_the_same_fit() -> None:
    assert crossing_of_ratios({100: 0.5, 1_000: 1.0, 10_000: 2.0}, is_rising=True) == pytest.approx(1_000)
    assert crossing_of_ratios({100: 2.0, 10_000: 0.5}, is_rising=False) == pytest.approx(1_000)
    assert crossing_of_ratios({100: 0.5, 1_000: 0.6}, is_rising=True) is None
    assert crossing_of_ratios({}, is_rising=True) is None


def test_each_level_is_paired_with_those_before_it() -> None:
    assert all_pairs(["c1", "c2", "c3"]) == [("c2", "c1"), ("c3", "c1"), ("c3", "c2")]
