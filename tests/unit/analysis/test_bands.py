from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from kafka_pareto.analysis.bands import Step, steps_beyond_trend
from kafka_pareto.analysis.paired_tests import holm
from kafka_pareto.analysis.ratios import ByBlock
from tests.unit.made_parts import noise

pytestmark = pytest.mark.fast

SIZES = (100, *(2**power for power in range(7, 17)))


def curve(latency_ms: Callable[[float], float], sd: float = 0.03, seed: int = 8) -> dict[int | float, ByBlock]:
    noisy = noise(np.random.default_rng(seed), len(SIZES), sd=sd)
    return {size: dict(enumerate(latency_ms(size) * row)) for size, row in zip(SIZES, noisy, strict=True)}


def named(steps: list[Step]) -> list[tuple[float, float]]:
    adjusted = holm([step.ratio.p_value for step in steps])
    return [(step.lower, step.upper) for step, p in zip(steps, adjusted, strict=True) if p < 0.05 and step.is_large]


def test_a_planted_jump_is_found_between_its_levels_with_its_size():
    steps = steps_beyond_trend(curve(lambda size: (5 + size / 4000) * (1.6 if size > 512 else 1)))
    assert named(steps) == [(512, 1024)]
    jump = next(step.ratio for step in steps if step.upper == 1024)
    assert jump.low < 1.6 < jump.high


def test_a_band_of_slow_sizes_has_a_jump_up_and_one_down():
    steps = steps_beyond_trend(curve(lambda size: 10 * (1.8 if 129 <= size <= 1400 else 1)))
    assert named(steps) == [(128, 256), (1024, 2048)]
    assert [step.ratio.value > 1 for step in steps if (step.lower, step.upper) in named(steps)] == [True, False]


@pytest.mark.parametrize(
    "latency_ms",
    [lambda _: 10.0, lambda size: size**0.7, lambda size: 5 + size / 1000, lambda size: 50 / (1 + size / 1000)],
)
def test_curves_that_are_flat_straight_or_bend_one_way_have_no_jump(latency_ms: Callable[[float], float]):
    assert not any(named(steps_beyond_trend(curve(latency_ms, seed=seed))) for seed in range(10))


@pytest.mark.parametrize("latency_ms", [lambda level: 0.4 + level / 16384, lambda level: 5 + 3000 / level])
def test_a_bend_at_the_end_of_few_distant_levels_is_not_a_jump(latency_ms: Callable[[float], float]):
    levels = [4**power for power in range(5, 11)]
    steps = steps_beyond_trend({level: dict(enumerate([latency_ms(level)] * 3)) for level in levels})
    assert not any(step.is_large for step in steps)


def test_a_jump_between_the_first_two_levels_or_the_last_two_is_found():
    first = steps_beyond_trend(curve(lambda size: 10 * (1.6 if size > 100 else 1)))
    last = steps_beyond_trend(curve(lambda size: 10 * (1.6 if size > 32768 else 1)))
    assert (named(first), named(last)) == ([(100, 128)], [(32768, 65536)])


def test_a_sure_jump_that_is_small_is_not_named():
    steps = steps_beyond_trend(curve(lambda size: 10 * (1.15 if size > 512 else 1), sd=0.002))
    jump = next(step for step in steps if step.upper == 1024)
    assert jump.ratio.p_value < 0.001
    assert not jump.is_large


def test_the_trend_follows_levels_that_are_not_equally_far_apart():
    levels = (1, 2, 4, 64, 128, 256)
    steps = steps_beyond_trend({level: dict(enumerate([float(level), 3.0 * level])) for level in levels})
    assert [step.ratio.value for step in steps] == pytest.approx([1.0] * 5)


def test_a_failed_level_excludes_only_its_two_steps():
    steps = steps_beyond_trend({**curve(lambda _: 10.0), 1024: {}})
    assert {(step.lower, step.upper) for step in steps} == set(pairwise(SIZES)) - {(512, 1024), (1024, 2048)}


def test_three_levels_and_levels_without_any_value_show_no_trend_to_jump_from():
    whole = curve(lambda size: size)
    for few in ({size: whole[size] for size in SIZES[:3]}, {}, {size: {} for size in SIZES}):
        assert steps_beyond_trend(few) == []
    assert len(steps_beyond_trend({size: whole[size] for size in SIZES[:4]})) == 3


def test_a_level_of_zero_is_refused():
    with pytest.raises(ValueError, match="level 0: must be above zero for a logarithmic axis"):
        steps_beyond_trend({0: {0: 1.0}, 5: {0: 1.0}})
