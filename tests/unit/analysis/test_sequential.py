from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from kafka_pareto.analysis.sequential import (
    after_each_block,
    change_at_any_stop,
    half_widths,
    least_sd,
    log_e_values,
    unselected_weights,
    weighted_change,
)

pytestmark = pytest.mark.fast

RNG = np.random.default_rng(5)


def test_mean_and_deviation_after_each_block_are_those_of_the_blocks_so_far() -> None:
    values = RNG.normal(3, 0.5, (2, 7))
    means, sds = after_each_block(values)
    for blocks in range(2, 8):
        assert means[:, blocks - 1] == pytest.approx(values[:, :blocks].mean(axis=1))
        assert sds[:, blocks - 1] == pytest.approx(values[:, :blocks].std(axis=1, ddof=1))
    assert np.isinf(sds[:, 0]).all()


def test_the_evidence_is_the_ratio_of_students_likelihoods_averaged_over_the_expected_effects() -> None:
    values = RNG.normal(0.4, 0.3, 6)
    t, blocks = stats.ttest_1samp(values, 0.0).statistic, 6

    def weighed(effect: float) -> float:
        likelihood = stats.nct.pdf(t, blocks - 1, np.sqrt(blocks) * effect)
        return float(likelihood * stats.norm.pdf(effect, scale=3.0))

    averaged = integrate.quad(weighed, -15, 15, points=[0.5, 1.5], limit=200)[0] / stats.t.pdf(t, blocks - 1)
    assert np.exp(log_e_values(*after_each_block(values))[-1]) == pytest.approx(averaged, rel=1e-6)


@pytest.mark.parametrize("level", [0.05, 0.0025])
def test_the_interval_holds_the_means_that_the_evidence_does_not_refute(level: float) -> None:
    values = RNG.normal(0.4, 0.3, 9)
    means, sds = after_each_block(values)
    widths = half_widths(sds, level)
    for blocks in range(1, 10):
        if not np.isfinite(widths[blocks - 1]):
            continue
        edge = means[blocks - 1] - widths[blocks - 1]
        at_edge = log_e_values(*after_each_block(values - edge))[blocks - 1]
        assert at_edge == pytest.approx(-np.log(level), rel=1e-6)
    assert np.isfinite(widths[-1])


def test_equals_are_hardly_ever_told_apart_however_often_one_looks() -> None:
    looks = RNG.normal(0, 1, (4000, 100))
    means, sds = after_each_block(looks)
    ever = (np.abs(means) > half_widths(sds)).any(axis=1)
    assert ever.mean() <= 0.05
    # A test that is meant to be looked at once errs in far more.
    t = means[:, 1:] / sds[:, 1:] * np.sqrt(np.arange(2, 101))
    assert (np.abs(t) > stats.t.isf(0.025, np.arange(1, 100))).any(axis=1).mean() > 0.3


def test_a_factor_in_every_block_alike_is_shown_by_a_few_blocks_and_not_for_certain_by_fewer() -> None:
    reference = np.array([10.0, 12.0, 11.0, 13.0, 9.0])
    p_values = [change_at_any_stop(reference[:n], 3 * reference[:n]).p_value for n in range(1, 6)]
    assert p_values[0] == 1.0
    assert p_values == sorted(p_values, reverse=True)
    assert p_values[1] > 0.05
    assert 1e-5 < p_values[4] < 0.0025
    change = change_at_any_stop(reference, 3 * reference)
    assert [change.change_fraction, change.low_fraction, change.high_fraction] == pytest.approx([2.0] * 3)


def test_equal_sides_show_nothing() -> None:
    reference = np.array([10.0, 12.0, 11.0])
    change = change_at_any_stop(reference, reference)
    assert (change.change_fraction, change.p_value) == (0.0, 1.0)


def test_no_blocks_and_one_block_have_no_interval() -> None:
    nothing = change_at_any_stop(np.array([]), np.array([]))
    assert np.isnan([nothing.change_fraction, nothing.low_fraction, nothing.p_value]).all()
    one = change_at_any_stop(np.array([2.0]), np.array([3.0]))
    assert one.change_fraction == pytest.approx(0.5)
    assert np.isnan(one.low_fraction)
    assert one.p_value == 1.0


def test_whole_milliseconds_leave_a_deviation_of_their_rounding() -> None:
    small, large = np.array([2.0, 2.0, 2.0, 2.0]), np.array([1.0, 1.0, 1.0, 1.0])
    assert least_sd(small, large, 1.0) == pytest.approx(np.hypot(1 / 2, 1) / np.sqrt(12))
    assert least_sd(small, large, 0.0) == 0.0
    rounded, exact = (change_at_any_stop(small, large, resolution).p_value for resolution in (1.0, 0.0))
    assert exact < rounded


@given(
    st.lists(st.floats(0.1, 10), min_size=2, max_size=12),
    st.floats(0.01, 100),
    st.integers(0, 2**32 - 1),
)
def test_units_change_nothing_and_swapped_sides_turn_the_interval_around(
    reference: list[float], unit: float, seed: int
) -> None:
    one = np.array(reference)
    other = one * np.exp(np.random.default_rng(seed).normal(0.3, 0.3, len(one)))
    there, scaled, back = (
        change_at_any_stop(one, other),
        change_at_any_stop(unit * one, unit * other),
        change_at_any_stop(other, one),
    )
    assert scaled.change_fraction == pytest.approx(there.change_fraction, rel=1e-6, abs=1e-9)
    assert scaled.p_value == pytest.approx(there.p_value, rel=1e-6)
    assert back.p_value == pytest.approx(there.p_value, rel=1e-6)
    assert 1 + back.change_fraction == pytest.approx(1 / (1 + there.change_fraction))
    if np.isfinite(there.low_fraction):
        assert 1 + back.low_fraction == pytest.approx(1 / (1 + there.high_fraction))
        assert there.low_fraction < there.change_fraction < there.high_fraction


def test_all_blocks_count_alike_where_every_order_ends_alike() -> None:
    log_ratios = RNG.normal(1, 0.1, (2, 8))
    weights = unselected_weights(log_ratios, 3, lambda orders: np.ones(len(orders), dtype=bool), RNG)
    assert weights == pytest.approx(np.full(8, 1 / 8), abs=0.01)
    assert weights.sum() == pytest.approx(1.0)


def test_only_the_last_blocks_count_where_no_other_order_ends_alike() -> None:
    log_ratios = RNG.normal(1, 0.1, (1, 8))
    weights = unselected_weights(log_ratios, 3, lambda orders: np.zeros(len(orders), dtype=bool), RNG)
    assert weights == pytest.approx([0, 0, 0, 0, 0, 1 / 3, 1 / 3, 1 / 3])


def test_the_weighted_change_of_equal_weights_has_students_interval() -> None:
    reference = RNG.lognormal(2, 0.2, 9)
    candidate = reference * RNG.lognormal(0.5, 0.2, 9)
    change = weighted_change(reference, candidate, np.full(9, 1 / 9))
    test = stats.ttest_1samp(np.log(candidate / reference), 0.0)
    interval = test.confidence_interval()
    assert np.log1p([change.low_fraction, change.high_fraction]) == pytest.approx([interval.low, interval.high])
    assert change.p_value == pytest.approx(test.pvalue)
    last_two = weighted_change(reference, candidate, np.array([0] * 7 + [0.5] * 2))
    assert np.log1p(last_two.change_fraction) == pytest.approx(np.log(candidate / reference)[-2:].mean())
    assert last_two.high_fraction - last_two.low_fraction > change.high_fraction - change.low_fraction
