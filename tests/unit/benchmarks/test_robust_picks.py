"""The benchmark of robust picks: its noise is the recording's, its strategies keep their budgets, its shares count."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.robust_picks import (
    DEFAULTS,
    KEPT_FRACTION,
    OWN,
    SCENES,
    STRATEGIES,
    TUNED,
    USUAL_RANGE,
    WITH_A_PERSON,
    summarised,
    table_of,
)
from benchmarks.strategies.noisy_grid import Pick, World, measured, recorded_noise
from benchmarks.strategies.own_pick import PLANS, confirmed_pick
from benchmarks.strategies.peer_picks import relative_range
from benchmarks.strategies.table import recorded_table, table_study, truth_blocks

pytestmark = pytest.mark.fast

EVERY = np.arange(360)


@pytest.mark.slow
def test_without_noise_a_block_is_the_truth() -> None:
    world = World(0.0, 3)
    scores = world.grid(0).balanced(EVERY)

    np.testing.assert_allclose(scores - scores[world.baseline], world.true_gains, atol=1e-12)


def test_noise_times_two_is_twice_the_recorded_noise() -> None:
    blocks = np.array([World(noise, seed).grid(0).block(EVERY) for noise in (1.0, 2.0) for seed in range(40)])
    once, twice = blocks.reshape(2, 40, -1, 2).std(axis=1)
    recorded = np.sqrt(recorded_table().losses.var(axis=1, ddof=1).mean(axis=0))

    np.testing.assert_allclose(np.sqrt((once**2).mean(axis=0)), recorded, rtol=0.05)
    np.testing.assert_allclose(np.median(twice / once, axis=0), 2.0, rtol=0.05)


def test_neighbours_in_time_share_noise_of_throughput_and_so_do_those_of_a_block() -> None:
    residuals = recorded_noise().residuals[:, 1]
    assert np.corrcoef(residuals[:-1], residuals[1:])[0, 1] > 0.15
    shuffled = np.random.default_rng(0).permutation(residuals)
    assert abs(np.corrcoef(shuffled[:-1], shuffled[1:])[0, 1]) < 0.1

    grid, pair = World(1.0, 0).grid(0), [0, 1]
    of_pairs = np.array([grid.block(pair)[:, 1] for _ in range(2000)])
    assert np.corrcoef(of_pairs.T)[0, 1] > 0.15


def test_recorded_repetitions_answer_from_blocks_that_are_not_the_truth() -> None:
    world = World(None, 4)
    grid, losses = world.grid(0), recorded_table().losses
    drawn = np.array([grid.block(EVERY) for _ in range(20)])
    answering = [block for block in range(losses.shape[1]) if block not in truth_blocks(4)]

    assert (drawn[:, :, np.newaxis] == losses[:, answering]).all(axis=-1).any(axis=-1).all()
    np.testing.assert_allclose(world.true_gains, -recorded_table().truth(4).sum(axis=1))


def test_a_tuned_baseline_is_better_than_nine_of_ten_and_is_measured_as_the_baseline() -> None:
    world = World(1.0, 0, tuned=True)
    assert (world.true_gains < 0).mean() == pytest.approx(0.9, abs=0.01)

    study = world.study
    repetition = measured(world.grid(0), [study.baseline_configuration()], "gain", 0)[0]
    assert repetition.is_baseline
    assert repetition.configuration_id == study.baseline_id() != table_study().baseline_id()


def test_a_measured_repetition_has_the_blocks_noise() -> None:
    world = World(1.0, 0)
    configuration = world.study.baseline_configuration()
    repetition = measured(world.grid(7), [configuration], "gain", 2)[0]
    latency, throughput = world.grid(7).block([world.baseline])[0]

    assert repetition.number("latency_p95_ms") == pytest.approx(np.exp(latency))
    assert repetition.number("throughput_mib_s") == pytest.approx(np.exp(-throughput))
    assert (repetition.phase, repetition.block) == ("gain", 2)


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name != OWN])
@pytest.mark.parametrize("scene", [(DEFAULTS, "1"), (TUNED, "4"), (DEFAULTS, "recorded repetitions")])
def test_a_peer_keeps_its_budget_and_estimates_the_gain_of_its_pick(name: str, scene: tuple[str, str]) -> None:
    for budget in PLANS:
        pick = STRATEGIES[name](SCENES[scene], budget)
        assert 0.7 * budget < pick.repetitions <= budget
        assert (pick.place is None) == (pick.promised == 0)
        assert pick.place != SCENES[scene].baseline


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in STRATEGIES if "0.3" not in name])
def test_estimates_hold_almost_without_noise(name: str) -> None:
    world = World(0.01, 1)
    pick = STRATEGIES[name](world, 60)

    assert pick.place is not None
    assert pick.promised == pytest.approx(world.true_gains[pick.place], rel=0.05)
    assert pick.promised > 2


@pytest.mark.slow
def test_the_own_pick_is_confirmed_within_its_budget() -> None:
    pick = confirmed_pick(World(4.0, 0, tuned=True), 60)

    assert pick == Pick(None, pick.repetitions)  # such noise hides a gain of a tuned baseline
    assert pick.repetitions <= 60
    for budget, plan in PLANS.items():
        assert plan.search + plan.confirmation.most_repetitions() <= budget


def test_nine_of_ten_configurations_stay_below_the_usual_range_in_ten_repetitions() -> None:
    grid = World(1.0, 0).grid(0)
    samples = np.array([grid.balanced(EVERY) for _ in range(10)]).T

    assert (relative_range(samples) < USUAL_RANGE).mean() == pytest.approx(0.9, abs=0.05)
    assert relative_range(np.log([1.0, 2.0, 3.0])) == pytest.approx(1.0)


def test_a_pick_counts_as_lost_below_its_share_and_not_while_a_person_is_asked() -> None:
    def row(seed: int, place: int | None, promised: float, true_gain: float, *, asked: bool = False) -> dict:
        names = {"baseline": DEFAULTS, "noise": "1", "seed": seed, "budget": 60, "strategy": OWN}
        return {
            **names,
            "place": place,
            "repetitions": 50,
            "promised": promised,
            "asked": asked,
            "true_gain": true_gain,
        }

    kept = row(0, 1, 1.0, KEPT_FRACTION + 0.01)
    lost, worse = row(1, 1, 1.0, KEPT_FRACTION), row(2, 1, 1.0, -0.1)
    of_a_person, no_pick = row(3, 1, 1.0, 0.9, asked=True), row(4, None, 0.0, 0.0)
    summary = summarised(pd.DataFrame([kept, lost, worse, of_a_person, no_pick])).set_index("strategy")

    own, agreed = summary.loc[OWN], summary.loc[WITH_A_PERSON]
    assert (own.seeds, own.picks, own.asked_a_person, agreed.picks) == (5, 3, 1, 4)
    assert own.lost_fraction == pytest.approx(2 / 3)
    assert own.worse_fraction == pytest.approx(1 / 3)
    assert agreed.lost_fraction == pytest.approx(2 / 4)
    assert own.mean_true_gain_of_seeds == pytest.approx((0.71 + 0.7 - 0.1) / 5)
    assert own.lost_low_fraction < 2 / 3 < own.lost_high_fraction
    assert "| 3 of 5 | 66.7 % | 33.3 % |" in table_of(summary.reset_index())[2]
