from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from kafka_pareto.analysis.paired_tests import (
    MINIMUM_BLOCKS_FOR_CV,
    cv_change,
    fewest_blocks_for_cv,
    holm,
    mean_change,
    unpaired_comparison,
    welch_p_value,
)
from tests.recorded import recorded_rows

pytestmark = pytest.mark.fast


def recorded_values(record_size_bytes: int, configuration: int, column: str) -> np.ndarray:
    rows = recorded_rows()
    chosen = (rows.record_size_bytes == record_size_bytes) & (rows.configuration_id == configuration)
    return rows[chosen].sort_values("block")[column].to_numpy(dtype=np.float64)


def test_holm_gives_the_adjusted_values_of_a_worked_example():
    # Holm by hand: sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, made monotone.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_never_passes_one_and_leaves_out_tests_that_could_not_be_done():
    adjusted = holm([0.9, float("nan"), 0.02])
    assert adjusted[0] == pytest.approx(0.9)
    assert np.isnan(adjusted[1])
    assert adjusted[2] == pytest.approx(0.04)


def test_holm_adjusts_as_statsmodels_does():
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


def test_resamples_of_one_recorded_configuration_rarely_claim_a_changed_cv():
    rng = np.random.default_rng(7)
    claims = []
    for record_size_bytes in (1024, 8192, 65636):
        recorded = recorded_values(record_size_bytes, 60, "latency_p95_ms")
        changes = [cv_change(rng.choice(recorded, 10), rng.choice(recorded, 10), rng) for _ in range(80)]
        claims += [change.p_value < 0.05 for change in changes]
    # 5 % nominal, and three standard errors of 240 tries.
    assert np.mean(claims) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 240)


def test_a_planted_large_effect_is_found_with_its_size():
    rng = np.random.default_rng(7)
    recorded = recorded_values(8192, 60, "throughput_mib_s")
    sides = rng.permutation(recorded), 1.5 * rng.permutation(recorded)
    change = mean_change(*sides)
    assert change.change_fraction == pytest.approx(0.5)
    assert 0.3 < change.low_fraction < 0.5 < change.high_fraction < 0.7
    assert change.p_value < 0.001
    beside = unpaired_comparison(*sides)
    assert max(beside.welch_p_value, beside.mann_whitney_p_value) < 0.001
    assert beside.cliffs_delta == 1.0
    assert beside.hedges_g > 3


def test_what_a_block_does_to_both_sides_alike_cancels():
    rng = np.random.default_rng(7)
    drift = np.linspace(1.0, 3.0, 10)
    baseline = drift * rng.normal(100, 1, 10)
    candidate = 0.95 * drift * rng.normal(100, 1, 10)
    assert mean_change(baseline, candidate).p_value < 0.01
    assert unpaired_comparison(baseline, candidate).welch_p_value > 0.01


def test_the_interval_of_a_mean_covers_the_true_change_about_as_often_as_it_says():
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(1_000):
        change = mean_change(rng.lognormal(0, 0.3, 10), 1.4 * rng.lognormal(0, 0.3, 10))
        covered += change.low_fraction <= 0.4 <= change.high_fraction
    assert 920 <= covered <= 980


def test_the_interval_of_a_cv_covers_the_true_change_about_as_often_as_it_says():
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(150):
        # Log-normals with CVs of 0.2 and 0.4.
        change = cv_change(
            rng.lognormal(0, np.sqrt(np.log(1.04)), 10), rng.lognormal(0, np.sqrt(np.log(1.16)), 10), rng
        )
        covered += change.low_fraction <= 1.0 <= change.high_fraction
    assert covered >= 0.9 * 150


def test_a_planted_large_change_of_the_cv_is_found():
    rng = np.random.default_rng(7)
    change = cv_change(rng.normal(100, 20, 20), rng.normal(100, 2, 20), rng)
    assert change.p_value < 0.01
    assert change.high_fraction < -0.5


def test_a_p_value_below_five_percent_and_an_interval_without_zero_are_the_same_statement():
    rng = np.random.default_rng(7)
    for spread in np.linspace(0.1, 0.6, 20):
        change = cv_change(rng.lognormal(0, 0.2, 10), rng.lognormal(0, spread, 10), rng)
        zero_outside = change.low_fraction > 0 or change.high_fraction < 0
        assert zero_outside == (change.p_value < 0.05) or abs(change.p_value - 0.05) < 0.002


def test_the_same_seed_gives_the_same_interval():
    values = recorded_values(8192, 60, "latency_p95_ms"), recorded_values(8192, 1, "latency_p95_ms")
    first, again = (cv_change(*values, np.random.default_rng(3)) for _ in range(2))
    assert (first.low_fraction, first.high_fraction) == (again.low_fraction, again.high_fraction)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("blocks", [0, 1])
def test_a_single_block_or_none_gives_no_interval(blocks: int):
    values = np.full(blocks, 5.0)
    for change in (mean_change(values, values), cv_change(values, values, np.random.default_rng(1))):
        assert np.isnan([change.low_fraction, change.high_fraction, change.p_value]).all()


@pytest.mark.filterwarnings("error")
def test_a_change_without_any_spread_is_tested_by_its_sign_in_each_block():
    whole_ms = np.array([1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0])
    doubled = mean_change(whole_ms, 2 * whole_ms)
    assert doubled.change_fraction == pytest.approx(1.0)
    assert doubled.p_value == pytest.approx(2 * 0.5**10)
    assert np.isnan([doubled.low_fraction, doubled.high_fraction]).all()
    assert np.isnan(mean_change(whole_ms, whole_ms).p_value)


@pytest.mark.filterwarnings("error")
def test_too_few_blocks_or_values_without_spread_compare_no_cvs():
    rng = np.random.default_rng(1)
    few = cv_change(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0]), rng)
    still = cv_change(np.arange(1.0, 11.0), np.full(10, 5.0), rng)
    assert np.isnan([few.p_value, still.p_value]).all()


@pytest.mark.filterwarnings("error")
def test_a_single_odd_value_among_equal_ones_claims_no_changed_cv():
    odd = np.array([100.0] * 9 + [150.0])
    change = cv_change(odd, np.random.default_rng(1).normal(100, 0.01, 10), np.random.default_rng(1))
    assert change.change_fraction < -0.9
    assert np.isnan(change.p_value)


def test_a_cv_ten_times_smaller_is_found_among_twenty_comparisons():
    rng = np.random.default_rng(2)
    p_values = [cv_change(rng.normal(100, 20, 10), rng.normal(100, 2, 10), rng).p_value for _ in range(20)]
    assert sum(p < 0.05 / 20 for p in p_values) >= 14


@pytest.mark.filterwarnings("error")
def test_a_baseline_of_nothing_but_zeros_gives_no_ratio():
    change = mean_change(np.zeros(10), np.arange(1.0, 11.0))
    assert np.isnan(change.p_value)


def has_interval(values: np.ndarray, blocks: int, rng: np.random.Generator) -> bool:
    """Tells whether two samples of the values are given an interval."""
    return bool(np.isfinite(cv_change(rng.choice(values, blocks), rng.choice(values, blocks), rng).low_fraction))


def test_the_fewest_blocks_for_a_cv_always_give_an_interval_and_one_less_never_does():
    rng = np.random.default_rng(4)
    values = rng.lognormal(3, 0.4, 100_000)
    assert all(has_interval(values, MINIMUM_BLOCKS_FOR_CV, rng) for _ in range(60))
    assert not any(has_interval(values, MINIMUM_BLOCKS_FOR_CV - 1, rng) for _ in range(60))
    assert fewest_blocks_for_cv(values[:10], share=0.8) == MINIMUM_BLOCKS_FOR_CV


@pytest.mark.parametrize("commonest", [4, 6, 8])
def test_tied_values_take_more_blocks_for_an_interval_of_their_cv(commonest: int):
    values = np.array([20.0] * commonest + [21.0 + at for at in range(10 - commonest)])
    fewest = fewest_blocks_for_cv(values, share=0.8)
    assert fewest > MINIMUM_BLOCKS_FOR_CV
    rng = np.random.default_rng(5)
    assert np.mean([has_interval(values, fewest, rng) for _ in range(60)]) > 0.65
    assert np.mean([has_interval(values, MINIMUM_BLOCKS_FOR_CV, rng) for _ in range(60)]) < 0.65


def test_six_blocks_of_one_recorded_configuration_rarely_claim_a_changed_cv():
    rng = np.random.default_rng(7)
    recorded = recorded_values(8192, 60, "latency_p95_ms")
    changes = [cv_change(rng.choice(recorded, 6), rng.choice(recorded, 6), rng) for _ in range(200)]
    assert np.mean([change.p_value < 0.05 for change in changes]) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


def test_welch_s_p_value_is_that_of_scipy():
    sides = np.array([3.0, 4.0, 8.0]), np.array([1.0, 2.0, 2.5, 2.0])
    assert welch_p_value(*sides) == pytest.approx(stats.ttest_ind(*sides, equal_var=False).pvalue)


def test_welch_s_test_takes_a_side_without_spread_but_not_two_nor_a_single_value():
    spread, constant = np.array([3.0, 4.0, 8.0]), np.full(3, 2.0)
    assert 0 < welch_p_value(spread, constant) < 1
    assert np.isnan(welch_p_value(constant, 2 * constant))
    assert np.isnan(welch_p_value(spread, spread[:1]))
