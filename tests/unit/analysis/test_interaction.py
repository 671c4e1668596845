from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from kafka_pareto.analysis.interaction import Combination, interactions
from kafka_pareto.analysis.ratios import ByBlock
from tests.unit.made_parts import noise

pytestmark = pytest.mark.fast

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
def test_a_corner_that_was_not_measured_or_holds_a_zero_leaves_no_interaction(corner: dict[int, float]):
    found = interactions({**grid({}), (16384, 10): corner}, REFERENCE)
    assert set(found) == {(65536, 0), (65536, 50)}
