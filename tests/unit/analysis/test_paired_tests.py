from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from kafka_pareto.analysis.paired_tests import effect_sizes, holm, mean_change, welch_p_value
from tests.recorded import recorded_rows

pytestmark = pytest.mark.fast


def recorded_values(record_size_bytes: int, configuration: int, column: str) -> np.ndarray:
    rows = recorded_rows()
    chosen = (rows.record_size_bytes == record_size_bytes) & (rows.configuration_id == configuration)
    return rows[chosen].sort_values("block")[column].to_numpy(dtype=np.float64)


def test_holm_agrees_with_a_worked_example_and_statsmodels_and_excludes_missing_tests():
    # By hand: sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, made monotone.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, float("nan"), 0.02]) == pytest.approx([0.9, float("nan"), 0.04], nan_ok=True)
    assert holm([0.9, 0.9]) == [1.0, 1.0]
    rng = np.random.default_rng(3)
    for size in (1, 2, 20):
        p_values = np.round(rng.random(size) ** 3, 2)  # with ties
        assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])
    assert holm([]) == []


@pytest.mark.parametrize("column", ["latency_p95_ms", "throughput_mib_s"])
def test_resamples_of_one_recorded_configuration_rarely_claim_a_changed_mean(column: str):
    rng = np.random.default_rng(7)
    recorded = recorded_values(8192, 60, column)
    claims = [mean_change(rng.choice(recorded, 10), rng.choice(recorded, 10)).p_value < 0.05 for _ in range(500)]
    assert np.mean(claims) < 0.08


def test_a_planted_large_effect_is_found_with_its_size():
    rng = np.random.default_rng(7)
    recorded = recorded_values(8192, 60, "throughput_mib_s")
    sides = rng.permutation(recorded), 1.5 * rng.permutation(recorded)
    change = mean_change(*sides)
    assert change.change_fraction == pytest.approx(0.5)
    assert 0.3 < change.low_fraction < 0.5 < change.high_fraction < 0.7
    assert change.p_value < 0.001
    beside = effect_sizes(*sides)
    assert beside.cliffs_delta == 1.0
    assert beside.hedges_g > 3


def test_a_block_effect_on_both_sides_cancels():
    rng = np.random.default_rng(7)
    drift = np.linspace(1.0, 3.0, 10)
    baseline = drift * rng.normal(100, 1, 10)
    candidate = 0.95 * drift * rng.normal(100, 1, 10)
    assert mean_change(baseline, candidate).p_value < 0.01
    assert welch_p_value(baseline, candidate) > 0.01


def test_the_interval_of_a_mean_covers_the_true_change_about_as_often_as_it_says():
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(1_000):
        change = mean_change(rng.lognormal(0, 0.3, 10), 1.4 * rng.lognormal(0, 0.3, 10))
        covered += change.low_fraction <= 0.4 <= change.high_fraction
    assert 920 <= covered <= 980


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("values", [[], [5.0], [0.0] * 10])
def test_no_block_a_single_one_and_a_baseline_of_zeros_give_no_interval(values: list[float]):
    change = mean_change(np.array(values), np.array(values) + np.arange(len(values)))
    assert np.isnan([change.low_fraction, change.high_fraction, change.p_value]).all()
    assert np.isnan(change.change_fraction) == (not values)


@pytest.mark.filterwarnings("error")
def test_a_change_without_any_spread_is_tested_by_its_sign_in_each_block():
    whole_ms = np.array([1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0])
    doubled = mean_change(whole_ms, 2 * whole_ms)
    assert doubled.change_fraction == pytest.approx(1.0)
    assert doubled.p_value == pytest.approx(2 * 0.5**10)
    assert np.isnan([doubled.low_fraction, doubled.high_fraction]).all()
    assert np.isnan(mean_change(whole_ms, whole_ms).p_value)


def test_welch_s_p_value_is_that_of_scipy_with_a_side_without_spread_but_not_two_nor_a_single_value():
    sides = np.array([3.0, 4.0, 8.0]), np.array([1.0, 2.0, 2.5, 2.0])
    assert welch_p_value(*sides) == pytest.approx(stats.ttest_ind(*sides, equal_var=False).pvalue)
    spread, constant = sides[0], np.full(3, 2.0)
    assert 0 < welch_p_value(spread, constant) < 1
    assert np.isnan([welch_p_value(constant, 2 * constant), welch_p_value(spread, spread[:1])]).all()
