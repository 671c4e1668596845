"""Latency and jitter of known series."""

from __future__ import annotations

import pytest

from kafka_pareto.drivers.services.programs.figures import (
    by_second,
    jitter_ms,
    latency_of,
    longest_gap_s,
    slope_of,
    smoothed_jitter_ms,
)

pytestmark = pytest.mark.fast


def test_latency_is_in_milliseconds() -> None:
    assert latency_of([0.010, 0.020, 0.030]) == pytest.approx(
        {"mean_ms": 20.0, "p50_ms": 20.0, "p95_ms": 29.0, "p99_ms": 29.8}
    )
    assert latency_of([]) is None


def test_jitter_is_the_mean_difference_of_successive_arrivals() -> None:
    assert jitter_ms([0.010, 0.030, 0.020]) == pytest.approx(15.0)
    assert jitter_ms([0.010] * 5) == 0.0
    assert jitter_ms([0.010]) is None


def test_smoothed_jitter_follows_rfc_3550() -> None:
    # J(1) = 16/16 ms, J(2) = 1 + (16 - 1)/16 ms
    assert smoothed_jitter_ms([0.0, 0.016, 0.032]) == pytest.approx(1.9375)
    assert smoothed_jitter_ms([0.0]) is None


def test_a_queue_that_grows_has_a_slope() -> None:
    assert slope_of([(10.0 + second, 3.0 * second + 7) for second in range(9)]) == pytest.approx((3.0, 0.0), abs=1e-9)
    found = slope_of([(float(second), (-1.0) ** second) for second in range(40)])
    assert found is not None
    assert abs(found[0]) < 2 * found[1] < 0.1
    assert slope_of([(1.0, 5.0), (1.0, 6.0), (2.0, 6.0)]) is None
    assert slope_of([]) is None


def test_the_longest_silence_is_between_two_confirmations() -> None:
    assert longest_gap_s([1.0, 1.5, 4.0, 4.2]) == pytest.approx(2.5)
    assert longest_gap_s([1.0]) is None


def test_seconds_without_a_confirmation_have_no_latency() -> None:
    found = by_second(100.0, [100.1, 100.9, 102.5], [0.010, 0.010, 0.050])

    assert found == [(2, pytest.approx(10.0)), (0, None), (1, pytest.approx(50.0))]
    assert by_second(100.0, [], []) == []
