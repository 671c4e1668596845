"""Blocks that end as soon as they answer: unchanged settings claim nothing, clear changes are claimed early."""

from __future__ import annotations

import numpy as np
import pytest

from tests.simulations.sequential import MOST_BLOCKS, ends_of, normal_log_ratios, stated, unchanged

pytestmark = pytest.mark.simulations


def test_at_most_one_in_twenty_of_two_thousand_unchanged_campaigns_shows_anything() -> None:
    found = unchanged(np.random.default_rng(41), 2000)
    assert found.claimed.sum() <= found.mean.sum() <= 50
    assert (found.mean | found.cv).sum() <= 100


def test_a_threefold_throughput_with_a_third_of_the_latency_is_claimed_within_eight_blocks() -> None:
    ends = ends_of(normal_log_ratios(np.random.default_rng(43), 500, (2.0, -2 / 3), 0.2))
    assert ends.claimed.all()
    assert np.quantile(ends.blocks, 0.95) <= 8


def test_half_again_the_latency_does_not_pass_beside_a_gain_in_throughput() -> None:
    ends = ends_of(normal_log_ratios(np.random.default_rng(44), 2000, (0.5, 0.5), 0.2))
    assert ends.claimed.mean() <= 0.001
    assert ends.harmed.mean() >= 0.95


def test_small_changes_use_all_blocks_and_are_left_open() -> None:
    ends = ends_of(normal_log_ratios(np.random.default_rng(45), 200, (0.05, -0.05), 0.2))
    assert np.median(ends.blocks) == MOST_BLOCKS
    assert ends.claimed.mean() <= 0.05


@pytest.mark.parametrize(("change", "sd"), [(0.3, 0.2), (0.5, 0.35)])
def test_what_is_stated_is_neither_flattered_by_the_stop_nor_by_the_claim(change: float, sd: float) -> None:
    found = stated(np.random.default_rng(46), 200, (change, -change / (1 + change)), sd)
    by_claim, weighted, _, holds = found.mean(axis=0)
    error = found[:, 1].std() / np.sqrt(len(found))
    truth = np.log1p(change)
    assert abs(weighted - truth) < 3 * error
    assert by_claim - truth > 2 * error
    assert found[:, 1].std() < found[:, 2].std()
    assert holds >= 0.82
