from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from kafka_pareto.analysis.repetition_values import coefficient_of_variation
from kafka_pareto.analysis.sequential import (
    blocks_to_answer,
    blocks_to_show,
    fewest_blocks,
    half_width,
    least_change_shown,
    log_ratio_of_cvs,
    log_ratio_of_means,
    may_show,
    mean_and_sd,
)

pytestmark = [pytest.mark.fast, pytest.mark.filterwarnings("error"), pytest.mark.slow]

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("blocks", [2, 3, 4, 5, 9])
def test_the_deviation_is_the_larger_one_of_blocks_and_of_pairs_of_neighbours(blocks: int) -> None:
    values = RNG.normal(3, 0.5, (200, blocks))
    means, sds = mean_and_sd(values)
    assert means == pytest.approx(values.mean(axis=1))
    plain = values.std(axis=1, ddof=1)
    if blocks < 4:
        assert sds == pytest.approx(plain)
        return
    pairs = [values[:, at : at + 2].mean(axis=1) for at in range(blocks % 2, blocks, 2)]
    of_pairs = np.sqrt(2) * np.std(pairs, axis=0, ddof=1)
    assert sds == pytest.approx(np.maximum(plain, of_pairs))
    assert 0 < np.mean(of_pairs > plain) < 1


def test_correlated_neighbours_widen_the_deviation_and_independent_ones_barely_do() -> None:
    steps = RNG.normal(0, 1, (2000, 30))
    alike = steps.copy()
    for block in range(1, 30):
        alike[:, block] = 0.5 * alike[:, block - 1] + np.sqrt(0.75) * steps[:, block]
    independent, tied = (np.median(mean_and_sd(each)[1]) for each in (steps, alike))
    assert independent == pytest.approx(1.0, abs=0.1)
    assert tied > independent + 0.1


def test_the_interval_contains_the_means_not_refuted_by_students_likelihoods() -> None:
    values, blocks, level = RNG.normal(0.4, 0.3, 6), 6, 0.01
    sd = values.std(ddof=1)
    edge = values.mean() - sd * float(half_width(blocks, level))
    t = stats.ttest_1samp(values, edge).statistic

    def weighed(effect: float) -> float:
        likelihood = stats.nct.pdf(t, blocks - 1, np.sqrt(blocks) * effect)
        return float(likelihood * stats.norm.pdf(effect, scale=2.0))

    averaged = integrate.quad(weighed, -15, 15, points=[0.5, 1.5, 3.0], limit=400)[0] / stats.t.pdf(t, blocks - 1)
    assert averaged == pytest.approx(1 / level, rel=1e-5)


def test_equal_sides_rarely_differ_significantly_however_often_they_are_tested() -> None:
    looks = RNG.normal(0, 1, (4000, 100))
    ever, ever_by_t = np.zeros(4000, dtype=bool), np.zeros(4000, dtype=bool)
    for blocks in range(2, 101):
        mean, sd = mean_and_sd(looks[:, :blocks])
        ever |= np.abs(mean) > sd * half_width(blocks, 0.05)
        # A test that is meant to be looked at once errs in far more.
        t = mean / looks[:, :blocks].std(axis=1, ddof=1) * np.sqrt(blocks)
        ever_by_t |= np.abs(t) > stats.t.isf(0.025, blocks - 1)
    assert ever.mean() <= 0.05
    assert ever_by_t.mean() > 0.3


@pytest.mark.parametrize(("comparisons", "fewest"), [(1, 4), (10, 5), (20, 5), (100, 6)])
def test_the_fewest_blocks_show_a_huge_change_and_one_less_shows_none(comparisons: int, fewest: int) -> None:
    level = 0.05 / comparisons
    assert fewest_blocks(level) == fewest
    assert np.isfinite(half_width(fewest, level))
    assert np.isinf(half_width(fewest - 1, level))


def test_the_same_factor_in_every_block_is_significant_with_the_fewest_blocks() -> None:
    reference = np.array([10.0, 12.0, 11.0, 13.0, 9.0])
    log_change, sd = log_ratio_of_means(reference, 3 * reference, 0.0)
    assert np.expm1(log_change) == pytest.approx(2.0)
    assert log_change > sd * half_width(5, 0.005)
    assert np.isinf(half_width(4, 0.005))


def test_no_blocks_have_no_change_one_no_deviation_and_whole_milliseconds_at_least_that_of_their_rounding() -> None:
    assert np.isnan(log_ratio_of_means(np.array([]), np.array([]), 1.0)[0])
    assert log_ratio_of_means(np.array([2.0]), np.array([3.0]), 1.0) == pytest.approx((np.log(1.5), np.inf))
    small, large = np.full(4, 2.0), np.full(4, 1.0)
    assert log_ratio_of_means(small, large, 1.0)[1] == pytest.approx(np.hypot(1 / 2, 1) / np.sqrt(12))
    assert log_ratio_of_means(small, large, 0.0)[1] < 1e-9


def test_the_ratio_of_cvs_has_the_deviation_of_the_jackknife_and_at_least_that_of_normal_values() -> None:
    reference, candidate = RNG.normal(10, 1, 12), RNG.normal(10, 3, 12)
    log_ratio, sd = log_ratio_of_cvs(reference, candidate)
    cvs = [coefficient_of_variation(side) for side in (reference, candidate)]
    assert np.exp(log_ratio) == pytest.approx(cvs[1] / cvs[0])
    pseudo = [
        12 * log_ratio - 11 * log_ratio_of_cvs(np.delete(reference, at), np.delete(candidate, at))[0]
        for at in range(12)
    ]
    assert sd == pytest.approx(max(np.sqrt(1 + cvs[0] ** 2 + cvs[1] ** 2), np.std(pseudo, ddof=1)))
    outlying = np.append(reference[:-1], 30.0)
    assert log_ratio_of_cvs(reference, outlying)[1] > 2
    even = np.linspace(1, 19, 12)
    assert log_ratio_of_cvs(even, even[::-1])[1] == pytest.approx(np.sqrt(1 + 2 * coefficient_of_variation(even) ** 2))


def test_a_side_without_a_cv_has_no_ratio_and_one_that_hangs_on_a_block_no_interval() -> None:
    still, steps = np.full(6, 5.0), np.arange(1.0, 7.0)
    assert np.isnan(log_ratio_of_cvs(still, steps)[0])
    assert np.isinf(log_ratio_of_cvs(steps, still)[1])
    once = np.array([5.0, 5.0, 5.0, 5.0, 5.0, 6.0])
    log_ratio, sd = log_ratio_of_cvs(once, steps)
    assert np.isfinite(log_ratio)
    assert np.isinf(sd)


@pytest.mark.parametrize("draw", [lambda n: RNG.normal(10, 2, n), lambda n: RNG.lognormal(3, 0.5, n)])
@pytest.mark.parametrize("blocks", [9, 16, 24])
def test_equal_cvs_rarely_differ_significantly(draw: object, blocks: int) -> None:
    assert callable(draw)
    found = [log_ratio_of_cvs(draw(blocks), draw(blocks)) for _ in range(400)]
    told = [abs(log_ratio) > sd * half_width(blocks, 0.05) for log_ratio, sd in found]
    assert np.mean(told) <= 0.02


def test_the_computed_blocks_show_a_change_in_four_of_five_cases() -> None:
    level, sd, change = 0.005, 0.2, float(np.log(1.5))
    blocks = blocks_to_show(change, sd, level)
    assert blocks is not None
    assert sd * least_change_shown(blocks, level) <= change < sd * least_change_shown(blocks - 1, level)
    shares = [
        np.mean(np.abs(RNG.normal(change, sd, (4000, number)).mean(axis=1)) > sd * half_width(number, level))
        for number in (blocks - 1, blocks)
    ]
    assert shares[0] < 0.82
    assert shares[1] > 0.78
    assert blocks_to_show(1e-4, sd, level) is None


@pytest.mark.parametrize("change", [0.15, 0.05, 0.0, -0.05])
def test_with_the_computed_blocks_most_cases_are_conclusive(change: float) -> None:
    level, sd, wanted = 0.005, 0.2, (float(np.log(0.9)), float(np.log(1.1)))
    blocks = blocks_to_answer(float(np.log1p(change)), sd, level, wanted, 21)
    assert blocks is not None
    drawn = np.log1p(change) + sd * RNG.normal(0, 1, (1000, blocks))
    mean, off = drawn.mean(axis=1), drawn.std(axis=1, ddof=1) * half_width(blocks, level)
    answered = (np.abs(mean) > off) | ((mean - off >= wanted[0]) & (mean + off <= wanted[1]))
    assert answered.mean() > 0.55  # within: each end by itself in four of five


@given(st.lists(st.floats(0.1, 10), min_size=2, max_size=12), st.floats(0.01, 100), st.integers(0, 2**32 - 1))
def test_units_change_nothing_and_swapped_sides_turn_the_ratio_around(
    reference: list[float], unit: float, seed: int
) -> None:
    one = np.array(reference)
    other = one * np.exp(np.random.default_rng(seed).normal(0.3, 0.3, len(one)))
    for ratio in (lambda a, b: log_ratio_of_means(a, b, 0.0), log_ratio_of_cvs):
        there, scaled, back = ratio(one, other), ratio(unit * one, unit * other), ratio(other, one)
        assert scaled == pytest.approx(there, rel=1e-5, abs=1e-9, nan_ok=True)
        assert [-back[0], back[1]] == pytest.approx(list(there), rel=1e-5, abs=1e-9, nan_ok=True)


def test_a_bound_may_be_shown_if_one_in_ten_continuations_excludes_it() -> None:
    rng, sd, blocks, most, level = np.random.default_rng(8), 0.2, 8, 20, 0.005
    needed = sd * float(half_width(most, level))
    for distance in (0.1, 0.125, 0.15, 0.175, 0.2):
        to_come = rng.normal(distance, sd * np.sqrt(1 / blocks - 1 / most), 20_000)
        share = float((to_come >= needed).mean())
        if abs(share - 0.1) > 0.01:
            assert may_show(distance, sd, blocks, most, level) == (share > 0.1)
    assert may_show(needed, sd, most, most, level)
    assert not may_show(needed - 1e-9, sd, most, most, level)
