"""Looks at the seconds of runs that were made up."""

from __future__ import annotations

import pytest

from kafka_pareto.drivers.log_pipeline.behaviour import (
    p95_by_second,
    part_of_burst,
    per_second,
    queue_of,
    timeline_of_run,
)
from kafka_pareto.drivers.log_pipeline.shoppers.wanted import Wanted
from tests.unit.drivers.log_pipeline.made_events import BEGAN_MS, made_events, reconciled

pytestmark = pytest.mark.fast


def test_what_was_logged_before_the_run_is_in_its_queue() -> None:
    events = made_events([-2000, -1000, 500], [3500, 500, 2000])

    assert list(queue_of(events, BEGAN_MS, 3)) == [2, 1, 0]


def test_seconds_are_counted_from_the_beginning_and_have_their_own_p95() -> None:
    events = made_events([0, 999, 1000, 2500], [10, 20, 30, 40])

    assert list(per_second(events.t0, BEGAN_MS, 4)) == [2, 1, 1, 0]
    assert p95_by_second(events, BEGAN_MS, 4) == [(2, pytest.approx(19.5)), (1, 30.0), (1, 40.0), (0, None)]


def test_a_timeline_says_where_the_time_went_and_what_passed_each_point() -> None:
    events = made_events([-500, 0, 500, 2500], [600, 100, 1100, 400])

    timeline = timeline_of_run(reconciled(events), Wanted("r", "s", 1.0, 4.0), BEGAN_MS)

    assert (timeline.what, timeline.done) == ("", [2, 1, 1, 0])
    assert timeline.latency_p95_ms == [pytest.approx(1050), None, 400.0, None]
    assert timeline.series["filebeat_ms"] == [600.0, None, 400.0, None]
    assert timeline.series["aggregator_ms"] == [0.0, None, 0.0, None]
    assert timeline.series["logged_events_s"] == [2.0, 0.0, 1.0, 0.0]
    assert timeline.series["shipped_events_s"] == [2.0, 1.0, 1.0, 0.0]
    assert timeline.series["queue_events"] == [1.0, 0.0, 0.0, 0.0]


def test_what_is_still_on_its_way_is_logged_and_in_the_queue_to_the_end() -> None:
    found = reconciled(made_events([0], [500]), pending_ms=[100, 1200], waited_until_ms=9_000)

    timeline = timeline_of_run(found, Wanted("r", "s", 1.0, 3.0), BEGAN_MS)

    assert timeline.series["logged_events_s"] == [2.0, 1.0, 0.0]
    assert timeline.series["shipped_events_s"] == [1.0, 0.0, 0.0]
    assert timeline.series["queue_events"] == [1.0, 2.0, 2.0]
    assert timeline.latency_p95_ms[1] == 7_800


def test_a_burst_is_in_the_timeline() -> None:
    wanted = Wanted("r", "s", 1.0, 4.0, burst_from_s=1.0, burst_until_s=2.0, burst_times=2.0)

    timeline = timeline_of_run(reconciled(made_events([0], [10])), wanted, BEGAN_MS)

    assert (timeline.what, timeline.began_s, timeline.ended_s) == ("burst", 1.0, 2.0)


def test_what_was_logged_has_its_place_by_the_clock_that_makes_requests_due_faster() -> None:
    wanted = Wanted("r", "s", 50.0, 6.0, burst_from_s=1.5, burst_until_s=4.25, burst_times=3.0)
    events = made_events([0, 1499, 1500, 4249, 4250, 6000], [10] * 6)

    assert list(part_of_burst(events.t0, BEGAN_MS, wanted)) == ["before", "before", "in", "in", "after", "after"]
