from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from benchmarks.warm_jvm_table import agreement

pytestmark = [pytest.mark.fast, pytest.mark.slow]

CONFIGURATIONS, BLOCKS = 30, 5


def measured(rng: np.random.Generator, noise: float) -> npt.NDArray[np.float64]:
    """Configurations from 1 to 30, each measured in blocks with multiplicative noise."""
    truth = np.arange(1.0, CONFIGURATIONS + 1)[:, None]
    return truth * np.exp(noise * rng.standard_normal((CONFIGURATIONS, BLOCKS)))


def test_two_methods_that_differ_only_by_noise_agree_like_one_with_itself():
    rng = np.random.default_rng(1)
    found = agreement(measured(rng, 0.1), measured(rng, 0.1), rng)

    assert found.configurations == CONFIGURATIONS
    assert found.median_ratio == pytest.approx(1.0, abs=0.05)
    assert CONFIGURATIONS > found.near >= found.chance_near  # noise alone takes some of them out of the 5 %
    assert found.rank_correlation >= found.chance_rank_correlation > 0.9


def test_a_method_faster_by_a_tenth_keeps_the_ranks_and_is_close_less_often_than_by_chance():
    rng = np.random.default_rng(1)
    found = agreement(measured(rng, 0.02), 1.1 * measured(rng, 0.02), rng)

    assert found.median_ratio == pytest.approx(1.1, abs=0.01)
    assert found.near < found.chance_near
    assert found.rank_correlation > 0.99


def test_blocks_of_only_one_method_and_configurations_without_blocks_do_not_count():
    rng = np.random.default_rng(1)
    fresh, warm = measured(rng, 0.0), measured(rng, 0.0)
    fresh[0, :3], warm[0, 3:], warm[1, 0] = np.nan, np.nan, np.nan
    fresh[1, 0] = 1000.0
    found = agreement(fresh, warm, rng)

    assert found.configurations == CONFIGURATIONS - 1
    assert found.near == found.configurations
