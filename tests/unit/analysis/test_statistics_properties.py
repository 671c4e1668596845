from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from kafka_pareto.analysis.drift import adjusted, change_between, pooled, ratio_between
from kafka_pareto.analysis.noise_study import noise_lines, noise_report, spread_of_cv, spread_of_mean
from kafka_pareto.analysis.paired_tests import Change, effect_sizes, holm, mean_change
from kafka_pareto.analysis.repetition_values import coefficient_of_variation
from kafka_pareto.analysis.rounding import dense_ranks, has_spread
from kafka_pareto.analysis.sentinel import MINIMUM_REPETITIONS, change_point, first_run_p_value, sentinel_report
from kafka_pareto.analysis.sequential import least_change_shown
from tests.recorded import paper_study, recorded_repetitions

pytestmark = [pytest.mark.fast, pytest.mark.filterwarnings("error"), pytest.mark.slow]

CASE = "8192"
BASELINE = recorded_repetitions((CASE,), configurations=0, phase="noise")

whole_ms = st.integers(1, 4).map(float)
measured = st.floats(0.01, 10_000.0)
value = whole_ms | measured
factor = st.sampled_from([3.0, 0.1, 1.1, 1 / 3, 1e-3, 1e6, 7.3])


def samples(least: int = 2, most: int = 12) -> st.SearchStrategy[np.ndarray]:
    number = st.integers(least, most)

    def of_length(n: int) -> st.SearchStrategy[list[float]]:
        tied, free = (st.lists(each, min_size=n, max_size=n) for each in (whole_ms, measured))
        return tied | free | value.map(lambda one: [one] * n)

    return number.flatmap(of_length).map(np.array)


def pairs(least: int = 2, most: int = 12) -> st.SearchStrategy[tuple[np.ndarray, np.ndarray]]:
    return st.integers(least, most).flatmap(lambda n: st.tuples(samples(n, n), samples(n, n)))


def holds_for(
    *strategies: st.SearchStrategy[Any], **changes: Any
) -> Callable[[Callable[..., None]], Callable[[], None]]:
    return lambda test: settings(deadline=None, **changes)(given(*strategies)(test))


def rounded_differently(values: np.ndarray) -> np.ndarray:
    """The same values, rounded differently."""
    return np.array([(each * 3.0) / 7.0 / 3.0 * 7.0 for each in values])


def seeded() -> np.random.Generator:
    return np.random.default_rng(1)


def is_sound(change: Change) -> bool:
    """Either there is an interval around the change and a p-value that agrees with it, or there is no interval."""
    low, high, p_value = change.low_fraction, change.high_fraction, change.p_value
    if np.isnan([low, high]).any():
        return bool(np.isnan([low, high]).all())
    if not (low <= change.change_fraction <= high and 0 <= p_value <= 1):
        return False
    return abs(p_value - 0.05) < 1e-6 or (low > 0 or high < 0) == (p_value < 0.05)


@holds_for(samples(), factor)
def test_sides_in_proportion_have_no_interval_and_the_p_value_of_their_signs(baseline: np.ndarray, times: float):
    change = mean_change(baseline, baseline * times)
    assert change.change_fraction == pytest.approx(times - 1)
    assert change.p_value == stats.binomtest(len(baseline), len(baseline)).pvalue
    assert np.isnan([change.low_fraction, change.high_fraction]).all()


@holds_for(samples())
def test_equal_sides_that_round_differently_are_no_change(values: np.ndarray):
    assert np.isnan(mean_change(values, rounded_differently(values)).p_value)


@holds_for(pairs(), factor)
def test_the_change_of_a_mean_does_not_depend_on_the_unit_or_the_order_of_the_blocks(
    sides: tuple[np.ndarray, np.ndarray], times: float
):
    baseline, candidate = sides
    change = mean_change(baseline, candidate)
    assert is_sound(change)
    for other in (mean_change(baseline * times, candidate * times), mean_change(baseline[::-1], candidate[::-1])):
        assert astuple(other) == pytest.approx(astuple(change), rel=1e-6, abs=1e-9, nan_ok=True)


@holds_for(pairs())
def test_swapped_sides_are_the_inverse_change_with_the_same_p_value(sides: tuple[np.ndarray, np.ndarray]):
    change, inverse = mean_change(*sides), mean_change(*sides[::-1])
    assert inverse.p_value == pytest.approx(change.p_value, rel=1e-6, abs=1e-9, nan_ok=True)
    assert 1 + inverse.change_fraction == pytest.approx(1 / (1 + change.change_fraction))
    assert np.isnan(inverse.low_fraction) == np.isnan(change.low_fraction)


@holds_for(pairs(least=3), factor, st.floats(0, 100))
def test_effect_sizes_depend_on_neither_unit_nor_offset(
    sides: tuple[np.ndarray, np.ndarray], times: float, offset: float
):
    baseline, candidate = (np.round(side, 3) for side in sides)
    beside = effect_sizes(baseline, candidate)
    scaled = effect_sizes(baseline * times, candidate * times)
    assert astuple(scaled) == pytest.approx(astuple(beside), rel=1e-6, abs=1e-9, nan_ok=True)
    if not np.isnan(beside.cliffs_delta):
        assert -1 <= beside.cliffs_delta <= 1
    shifted = effect_sizes(baseline + offset, candidate + offset)
    assert np.isnan(shifted.hedges_g) == np.isnan(beside.hedges_g)


@holds_for(value, st.integers(2, 12), factor)
def test_two_sides_without_any_spread_have_no_effect_size(one: float, blocks: int, times: float):
    baseline = np.array([one] * (blocks - 1) + [rounded_differently(np.array([one]))[0]])
    beside = effect_sizes(baseline, baseline * times)
    assert np.isnan([beside.hedges_g, beside.cliffs_delta]).all()


@holds_for(st.lists(st.floats(0, 1) | st.just(float("nan")), max_size=12))
def test_holm_raises_every_p_value_keeps_their_order_and_skips_missing_tests(p_values: list[float]):
    after, before = np.array(holm(p_values)), np.array(p_values)
    assert (np.isnan(after) == np.isnan(before)).all()
    done = ~np.isnan(before)
    assert ((before[done] <= after[done]) & (after[done] <= 1)).all()
    assert (np.diff(after[done][np.argsort(before[done], kind="stable")]) >= 0).all()


@holds_for(samples(), factor)
def test_a_cv_is_none_of_rounding_and_none_of_the_unit(values: np.ndarray, times: float):
    cv = coefficient_of_variation(values)
    assert coefficient_of_variation(values * times) == pytest.approx(cv, rel=1e-6)
    assert (cv == 0) == (not has_spread(values))


@holds_for(samples())
def test_values_that_only_round_differently_share_a_rank(values: np.ndarray):
    both = dense_ranks(np.concatenate([values, rounded_differently(values)]))
    assert (both[: len(values)] == both[len(values) :]).all()
    assert (dense_ranks(values) == stats.rankdata(values, method="dense") - 1).all() or has_close_values(values)


def has_close_values(values: np.ndarray) -> bool:
    gaps = np.diff(np.sort(values))
    return bool(((gaps > 0) & (gaps <= 1e-12 * values.max())).any())


@holds_for(pairs(), factor)
def test_a_ratio_to_the_baseline_does_not_depend_on_the_unit_and_swapped_checks_change_inversely(
    sides: tuple[np.ndarray, np.ndarray], times: float
):
    then, now = ratio_between(*sides), ratio_between(sides[0] * times, sides[1] * times)
    assert then is not None
    assert now is not None
    assert now.log_ratio == pytest.approx(then.log_ratio, abs=1e-9)
    assert (now.low is None) == (then.low is None)
    other = ratio_between(np.arange(1.0, 6.0), np.array([2.0, 3.0, 5.0, 4.0, 6.0]))
    there, back = (change_between("throughput_mib_s", *each, 0.1) for each in ((then, other), (other, then)))
    assert there.change_fraction is not None
    assert back.change_fraction is not None
    assert 1 + there.change_fraction == pytest.approx(1 / (1 + back.change_fraction))
    assert there.p_value == back.p_value
    assert there.p_value is not None
    assert 0 <= there.p_value <= 1


@holds_for(samples(), factor, factor)
def test_checks_whose_blocks_are_in_proportion_claim_no_drift(baseline: np.ndarray, then: float, now: float):
    ratios = [ratio_between(baseline, baseline * times) for times in (then, now)]
    change = adjusted([change_between("p95_latency_ms", *ratios, 0.1)])[0]
    assert (change.p_value, change.drifted) == (None, False)


@holds_for(pairs(least=4))
def test_a_check_in_two_parts_is_pooled_to_the_whole(sides: tuple[np.ndarray, np.ndarray]):
    parts = [ratio_between(sides[0][part], sides[1][part]) for part in (slice(None, 2), slice(2, None))]
    found, whole = pooled([part for part in parts if part]), ratio_between(*sides)
    assert found is not None
    assert whole is not None
    assert found.log_ratio == pytest.approx(whole.log_ratio, abs=1e-9)
    assert found.log_deviation == pytest.approx(whole.log_deviation, rel=1e-6, abs=1e-9)


@holds_for(value, st.integers(MINIMUM_REPETITIONS, 20), st.integers(1, 11), max_examples=20)
def test_a_sentinel_that_only_rounds_differently_has_not_moved(one: float, number: int, step: int):
    values = np.array([one] * step + [rounded_differently(np.array([one]))[0]] * (number - step))
    series = []
    for at, each in enumerate(values.tolist()):
        when = {"repetition_id": f"b{at:03d}", "started_at": f"2026-11-21T10:{at:02d}:00+00:00"}
        series.append(BASELINE[0].with_values({**when, "latency_p95_ms": each, "throughput_mib_s": each}))
    report = sentinel_report(series, paper_study(), seeded())
    assert not report.moved
    assert {one.first_run_p_value_holm for one in report.series} == {1.0}


@holds_for(samples(3, 20), factor, max_examples=20)
def test_tests_of_a_series_do_not_depend_on_the_unit(values: np.ndarray, times: float):
    assert first_run_p_value(values * times) == pytest.approx(first_run_p_value(values), rel=1e-5, abs=1e-9)
    assert change_point(values * times, seeded()) == change_point(values, seeded())


@holds_for(samples(5, 10), max_examples=30)
def test_a_noise_report_promises_nothing_of_values_without_a_spread(values: np.ndarray):
    repetitions = [
        r.with_values({"latency_p95_ms": v, "throughput_mib_s": v})
        for r, v in zip(BASELINE, values.tolist(), strict=False)
    ]
    report = noise_report(paper_study(), CASE, repetitions)
    assert all((noise.value is not None) == has_spread(values) for noise in report.objectives)
    assert len(noise_lines(report, "across_repetitions")) == 5


@holds_for(samples(5, 12), factor, st.integers(2, 40))
def test_detectable_changes_do_not_depend_on_the_unit_and_more_blocks_detect_no_less(
    values: np.ndarray, times: float, blocks: int
):
    if not has_spread(values):
        return
    for spread_of in (spread_of_mean, spread_of_cv):
        assert spread_of(values * times) == pytest.approx(spread_of(values), rel=1e-6)
    here, further = (least_change_shown(number, 0.005) for number in (blocks, blocks + 5))
    assert 0 < further <= here
