"""Variability within a run: what the two CVs are, and that recorded repetitions can tell configurations by them."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import variability as benchmark
from kafka_pareto.variability import latency_cv_in_run, throughput_cv_in_run

pytestmark = pytest.mark.fast


def test_both_are_the_usual_cv_where_values_are_normal() -> None:
    values = np.random.default_rng(5).normal(100, 12, 20_000)
    percentiles = {"p50": float(np.percentile(values, 50)), "p90": float(np.percentile(values, 90))}
    assert latency_cv_in_run(percentiles) == pytest.approx(0.12, rel=0.03)
    assert throughput_cv_in_run([round(value) for value in values], window_ms=100) == pytest.approx(0.12, rel=0.03)


def test_the_latency_cv_has_no_unit_and_is_none_without_a_median() -> None:
    in_us = {"p50": 2_000.0, "p90": 5_000.0, "p95": 9_000.0}
    in_ms = {name: value / 1000 for name, value in in_us.items()}
    assert latency_cv_in_run(in_us) == pytest.approx(latency_cv_in_run(in_ms))
    assert latency_cv_in_run({"p50": 0.0, "p90": 5.0}) is None


def test_an_even_flow_has_no_throughput_cv_whatever_the_first_and_the_last_window_hold() -> None:
    assert throughput_cv_in_run([3, *[57] * 28, 11], window_ms=100) == 0.0


def test_a_bursty_flow_has_more_than_an_even_one() -> None:
    bursty = throughput_cv_in_run([0, *[114, 0] * 14, 0], window_ms=100)
    even = throughput_cv_in_run([0, *[57, 58] * 14, 0], window_ms=100)
    assert bursty is not None
    assert even is not None
    assert bursty > 0.9
    assert even < 0.1


@pytest.mark.parametrize(
    ("windows", "window_ms"), [([], 100), ([57] * 6, 100), ([0] * 30, 100), ([57] * 30, 50), ([57] * 30, 1000)]
)
def test_too_few_windows_empty_ones_and_those_of_another_length_have_none(windows: list[int], window_ms: int) -> None:
    assert throughput_cv_in_run(windows, window_ms) is None


@pytest.mark.parametrize("of_repetition", [benchmark.latency_cv, benchmark.throughput_cv])
def test_three_recorded_repetitions_tell_configurations_by_their_variability(of_repetition: object) -> None:
    assert callable(of_repetition)
    cut = benchmark.halves(benchmark.steady_values(of_repetition), benchmark.of_means)
    assert cut.repetitions == 3
    assert cut.reliability() >= 0.8
    assert cut.interval(np.random.default_rng(1))[0] >= 0.8


def test_five_recorded_cold_bursts_hardly_do() -> None:
    rows = benchmark.recorded_rows()
    for column in ("latency_p95_ms", "throughput_records_s"):
        of_size = rows[rows.record_size_bytes == 8192]
        values = of_size.pivot(index="configuration_id", columns="block", values=column).to_numpy(dtype=np.float64)
        assert benchmark.halves(values, benchmark.of_cvs).reliability() < 0.5


def test_the_reliability_of_true_values_and_equal_noise_is_their_share_of_the_variance() -> None:
    rng = np.random.default_rng(11)
    values = rng.normal(size=(4_000, 1)) + rng.normal(size=(4_000, 6))
    cut = benchmark.halves(values, benchmark.of_means)
    assert cut.reliability() == pytest.approx(3 / 4, abs=0.02)
    assert cut.reliability(1) == pytest.approx(1 / 2, abs=0.02)
    assert cut.reliability(9) == pytest.approx(9 / 10, abs=0.02)
