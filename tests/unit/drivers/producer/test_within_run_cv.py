"""Variability within a run: its two CVs, and that they separate recorded configurations."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import variability as benchmark
from kafka_pareto.drivers.producer.within_run_cv import latency_cv_in_run, throughput_cv_in_run

pytestmark = pytest.mark.fast


def within_run(windows: list[int]) -> float | None:
    """Return the CV of windows whose last one is cut short by the end of sending."""
    return throughput_cv_in_run(windows, window_ms=100, sending_s=len(windows) / 10 - 0.01)


def test_both_are_the_usual_cv_where_values_are_normal() -> None:
    values = np.random.default_rng(5).normal(100, 12, 20_000)
    percentiles = {"p50": float(np.percentile(values, 50)), "p90": float(np.percentile(values, 90))}
    assert latency_cv_in_run(percentiles) == pytest.approx(0.12, rel=0.03)
    assert within_run([round(value) for value in values]) == pytest.approx(0.12, rel=0.03)


def test_the_latency_cv_has_no_unit_and_is_none_without_a_median() -> None:
    in_us = {"p50": 2_000.0, "p90": 5_000.0, "p95": 9_000.0}
    in_ms = {name: value / 1000 for name, value in in_us.items()}
    assert latency_cv_in_run(in_us) == pytest.approx(latency_cv_in_run(in_ms))
    assert latency_cv_in_run({"p50": 0.0, "p90": 5.0}) is None


def test_an_even_flow_has_no_throughput_cv_whatever_the_first_and_the_last_window_hold() -> None:
    assert within_run([3, *[57] * 28, 11]) == 0.0


@pytest.mark.parametrize("latency_ms", [0, 50, 150, 250, 350, 1_500])
def test_a_latency_shared_by_every_record_leaves_an_even_flow_even(latency_ms: int) -> None:
    due_ms = np.arange(3_000) + 0.5
    windows = np.bincount(((due_ms + latency_ms) // 100).astype(int)).tolist()
    assert throughput_cv_in_run(windows, window_ms=100, sending_s=3.0) == 0.0


def test_a_bursty_flow_has_more_than_an_even_one() -> None:
    bursty = within_run([0, *[114, 0] * 14, 0])
    even = within_run([0, *[57, 58] * 14, 0])
    assert bursty is not None
    assert even is not None
    assert bursty > 0.9
    assert even < 0.1


@pytest.mark.parametrize(
    ("windows", "window_ms"),
    [([], 100), ([57] * 5, 100), ([0] * 30, 100), ([0] * 25 + [57] * 5, 100), ([57] * 30, 50), ([57] * 30, 1000)],
)
def test_too_few_windows_empty_ones_and_those_of_another_length_have_none(windows: list[int], window_ms: int) -> None:
    assert throughput_cv_in_run(windows, window_ms, sending_s=len(windows) / 10) is None


@pytest.mark.parametrize("of_repetition", [benchmark.latency_cv, benchmark.throughput_cv])
def test_three_recorded_repetitions_tell_configurations_by_their_variability(of_repetition: object) -> None:
    assert callable(of_repetition)
    cut = benchmark.halves(benchmark.steady_values(of_repetition), benchmark.of_means)
    assert cut.repetitions == 3
    assert cut.reliability() >= 0.8
    assert cut.reliability(5) >= 0.9
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
