from __future__ import annotations

import pytest

from kafka_pareto.analysis.recovery import seconds_to_former_p95, within_again_at_s

pytestmark = pytest.mark.fast

BEFORE, SILENT, LATE, NEAR = [(50, 10.0)] * 10, [(0, None)] * 5, [(300, 4000.0)] * 3, [(50, 15.0)] * 20


def test_the_former_latency_is_back_when_it_stays() -> None:
    blip = [(50, 15.0)] * 2
    assert seconds_to_former_p95([*BEFORE, *SILENT, *LATE, *NEAR], 10.0, 15.0) == 8.0
    assert seconds_to_former_p95([*BEFORE, *SILENT, *blip, *LATE, *NEAR], 10.0, 15.0) == 10.0
    assert seconds_to_former_p95([*BEFORE, *NEAR], 10.0, 15.0) == 0.0
    assert seconds_to_former_p95([*BEFORE, *SILENT, *LATE], 10.0, 15.0) is None
    assert seconds_to_former_p95([*SILENT], 10.0, 15.0) is None


def test_seconds_count_only_once_the_fault_is_over_and_all_is_whole() -> None:
    while_it_is_away = [(50, 12.0)] * 6
    seconds = [*BEFORE, *SILENT, *while_it_is_away, *LATE, *NEAR]
    assert seconds_to_former_p95(seconds, 10.0, 12.0) == 5.0
    assert seconds_to_former_p95(seconds, 10.0, 20.5) == 14.0
    assert seconds_to_former_p95([*BEFORE, *SILENT, *NEAR], 10.5, 25.2) == 15.5
    assert seconds_to_former_p95([*BEFORE, *SILENT, *NEAR], 10.0, 33.0) is None  # too few seconds are left


def test_the_slowest_second_before_is_near_too_and_the_first_ones_do_not_count() -> None:
    restless = [(50, 10.0)] * 5 + [(50, 80.0)] + [(50, 10.0)] * 4
    slowly = [(50, 70.0)] * 20
    assert seconds_to_former_p95([*restless, *SILENT, *slowly], 10.0, 15.0) == 5.0
    assert seconds_to_former_p95([*BEFORE, *SILENT, *slowly], 10.0, 15.0) is None
    warming = [(50, 90.0)] * 3
    assert seconds_to_former_p95([*warming, *BEFORE, *SILENT, *slowly], 13.0, 18.0) == 5.0
    assert seconds_to_former_p95([*warming, *BEFORE, *SILENT, *slowly], 13.0, 18.0, skip_s=3.0) is None


def test_seconds_within_the_bound_before_a_burst_ends_do_not_count() -> None:
    burst, queue, near = [(100, 30.0)] * 6, [(50, 14.0)] * 4, [(50, 11.0)] * 20
    assert within_again_at_s([*BEFORE, *burst, *queue, *near], 12.0, 10.0, 16.0) == 20.0
    assert within_again_at_s([*BEFORE, *burst, *near], 12.0, 10.0, 16.0) == 16.0
    assert within_again_at_s([*BEFORE, *near], 12.0, 10.0, 16.0) == 10.0
    assert within_again_at_s([*BEFORE, *burst, *queue], 12.0, 10.0, 16.0) is None
