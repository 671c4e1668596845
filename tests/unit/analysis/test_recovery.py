"""Finds when a latency is again what it was."""

from __future__ import annotations

import pytest

from kafka_pareto.analysis.recovery import seconds_to_former_p95

pytestmark = pytest.mark.fast


def test_the_former_latency_is_back_when_it_stays() -> None:
    before, silent, late, near = [(50, 10.0)] * 10, [(0, None)] * 5, [(300, 4000.0)] * 3, [(50, 15.0)] * 20
    blip = [(50, 15.0)] * 2

    assert seconds_to_former_p95([*before, *silent, *late, *near], 10.0) == 8.0
    assert seconds_to_former_p95([*before, *silent, *blip, *late, *near], 10.0) == 10.0
    assert seconds_to_former_p95([*before, *near], 10.0) == 0.0
    assert seconds_to_former_p95([*before, *silent, *late], 10.0) is None
    assert seconds_to_former_p95([*silent], 10.0) is None


def test_after_a_burst_time_counts_from_its_end() -> None:
    before, burst, queue, near = [(50, 10.0)] * 10, [(100, 30.0)] * 6, [(50, 14.0)] * 4, [(50, 11.0)] * 20

    assert seconds_to_former_p95([*before, *burst, *queue, *near], 10.0, until_s=16.0, times=1.2) == 4.0
    assert seconds_to_former_p95([*before, *burst, *near], 10.0, until_s=16.0, times=1.2) == 0.0
    assert seconds_to_former_p95([*before, *burst, *queue], 10.0, until_s=16.0, times=1.2) is None
