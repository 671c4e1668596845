from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from kafka_pareto.analysis.pareto import Losses, non_dominated

pytestmark = pytest.mark.fast

# Few different values, so that many rows share some; infinities and NaN among them.
LOSS = st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, np.inf, np.nan])


def dominates(row: Losses, other: Losses) -> bool:
    return bool((row <= other).all() and (row < other).any())


@pytest.mark.slow
@given(arrays(np.float64, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=25), elements=LOSS))
def test_a_row_is_marked_exactly_when_no_other_dominates_it(losses: Losses) -> None:
    expected = [not any(dominates(other, row) for other in losses) for row in losses]
    assert non_dominated(losses).tolist() == expected


@pytest.mark.parametrize("shape", [(0, 2), (3, 0), (0, 0)])
def test_without_rows_or_without_objectives_nothing_is_dominated(shape: tuple[int, int]) -> None:
    assert non_dominated(np.empty(shape)).tolist() == [True] * shape[0]


def test_only_points_that_no_other_dominates_are_non_dominated() -> None:
    losses = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0], [3.0, 3.0], [1.0, 3.0]])
    assert non_dominated(losses).tolist() == [True, True, True, False, True]
