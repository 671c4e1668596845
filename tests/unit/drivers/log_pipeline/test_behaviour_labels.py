from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from kafka_pareto.campaign.records import Timeline
from kafka_pareto.drivers.log_pipeline.behaviour_labels import (
    growth_of,
    label_of,
    p95_by_second,
    part_of_burst,
    per_second,
    queue_of,
    rate_of_commits,
    spikes,
    timeline_of_run,
)
from kafka_pareto.drivers.log_pipeline.shoppers.wanted import Wanted
from tests.unit.drivers.log_pipeline.made_events import BEGAN_MS, even, made_events, reconciled

pytestmark = pytest.mark.fast

SECONDS, RATE, FROM_S = 60, 100.0, 20
LOGGED = even(RATE, SECONDS)


def seconds_of(events: pd.DataFrame, pending_ms: np.ndarray | None = None, seconds: int = SECONDS) -> Timeline:
    """Return a run's timeline, with these events pending until 180 s."""
    found = reconciled(events, [] if pending_ms is None else pending_ms, 180_000)
    return timeline_of_run(found, Wanted("r", "s", RATE, seconds), BEGAN_MS)


def growth_in(timeline: Timeline) -> Any:
    return growth_of(timeline, FROM_S)


def test_a_pipeline_that_sustains_its_load_is_stable_however_late_it_is() -> None:
    run = seconds_of(made_events(LOGGED, np.full(len(LOGGED), 15_000.0)))

    assert [run.series["queue_events"][at] for at in (0, 9, 20, 59)] == [100, 1000, 1500, 1500]
    assert growth_in(run).fraction == pytest.approx(0, abs=1e-9)
    assert label_of(run, FROM_S, 0.0) == "stable"


def test_batches_of_uneven_length_do_not_make_a_queue_look_as_if_it_grew() -> None:
    # Each commit takes all that was logged by then: the queue goes up and down between them, and nowhere else.
    commits = np.array([1, 4.5, 7, 12, 14.5, 19, 23.5, 26, 31.5, 35, 38, 43, 46, 50.5, 55, 61]) * 1000
    run = seconds_of(made_events(LOGGED, commits[np.searchsorted(commits, LOGGED, side="right")] - LOGGED))

    # A second that ends half a second after its commit holds 50 of the 4,000 that were logged.
    assert growth_in(run).fraction == pytest.approx(0, abs=0.01)


def test_a_queue_that_grows_is_collapsing_however_late_it_was_from_the_beginning() -> None:
    # It takes nine events in the time of ten; beside what they wait anyway p95 hardly rises from quarter to quarter.
    run = seconds_of(made_events(LOGGED, 20_000.0 + LOGGED / 9))

    growth = growth_in(run)
    assert growth.fraction == pytest.approx(0.1, abs=0.01)
    assert growth.low > 0
    assert label_of(run, FROM_S, 0.0) == "collapsing"


def test_a_queue_that_does_not_drain_in_time_is_collapsing_whatever_happened_to_other_events() -> None:
    # A third of what is logged comes, in time; the rest not until the wait for it is over.
    comes = np.arange(len(LOGGED)) % 3 == 0
    events = made_events(LOGGED[comes], np.full(comes.sum(), 200.0))

    assert label_of(seconds_of(events), FROM_S, 0.0) == "too_short_to_tell"  # so few events a second
    assert growth_in(seconds_of(events, LOGGED[~comes])).fraction == pytest.approx(2 / 3, abs=0.01)
    assert label_of(seconds_of(events, LOGGED[~comes]), FROM_S, 0.0) == "collapsing"


def test_commits_that_stop_make_a_queue_grow() -> None:
    # Until 15 s, before the steady part, each commit takes what came within two seconds.
    taken = LOGGED[LOGGED < 14_000]
    run = seconds_of(made_events(taken, 2_000 - taken % 2_000), LOGGED[LOGGED >= 14_000])

    assert growth_in(run).fraction == pytest.approx(1)
    assert label_of(run, FROM_S, 0.0) == "collapsing"


@pytest.mark.parametrize("commit_ms", [[], [5_000], [30_000]])
def test_a_run_with_at_most_one_commit_is_collapsing(commit_ms: list[int]) -> None:
    seconds = 180
    logged = even(RATE, seconds)
    taken = logged[logged < sum(commit_ms)]
    run = seconds_of(made_events(taken, sum(commit_ms) - taken), logged[len(taken) :], seconds)

    assert label_of(run, FROM_S, 0.0) == "collapsing"


@pytest.mark.slow
def test_growth_below_the_stated_share_is_not_a_collapse_however_significant() -> None:
    seconds = 600
    logged = even(500, seconds)
    run = seconds_of(made_events(logged, 500.0 + logged * 0.012), seconds=seconds)

    growth = growth_in(run)
    assert 0 < growth.low < growth.fraction < 0.02
    assert label_of(run, FROM_S, 0.0) == "stable"


def test_throttled_is_a_bounded_queue_with_refused_or_lost_events() -> None:
    bounded = seconds_of(made_events(LOGGED, np.full(len(LOGGED), 2_000.0)))
    growing = seconds_of(made_events(LOGGED, LOGGED / 2))

    assert [label_of(bounded, FROM_S, share) for share in (0.02, 0.03)] == ["stable", "throttled"]
    assert label_of(growing, FROM_S, 0.5) == "collapsing"


@pytest.mark.parametrize(
    ("steady_from_s", "batch_ms"),
    [(41, 1_000), (20, 8_000)],  # a steady part of 19 s; one in which five batches are committed
)
def test_too_little_to_tell_by_is_reported(steady_from_s: int, batch_ms: int) -> None:
    run = seconds_of(made_events(LOGGED, batch_ms - LOGGED % batch_ms))

    assert growth_of(run, steady_from_s) is None
    assert label_of(run, steady_from_s, 0.0) == "too_short_to_tell"


def test_few_events_tell_less_than_many() -> None:
    # The queue does not move. Of 2,000 random arrivals one that just keeps up moves by 3 %, so 5 % is not excluded.
    runs = [seconds_of(made_events(even(rate, SECONDS), np.full(int(rate * SECONDS), 2_000.0))) for rate in (50, 100)]

    assert [label_of(run, FROM_S, 0.0) for run in runs] == ["too_short_to_tell", "stable"]


def test_one_second_with_more_than_five_times_the_mean_is_a_spike() -> None:
    # What is logged in six seconds comes in one. To Hive it comes in batches, of which each has as much as the others.
    logged = even(RATE, 180)
    run = seconds_of(made_events(logged, 6_000 - logged % 6_000), seconds=180)

    found = spikes(run, 40)
    assert (found["shipper"], found["aggregator"]) == (pytest.approx(6, rel=0.1), pytest.approx(6, rel=0.1))
    assert found["hive"] == 1
    assert label_of(run, 40, 0.0) == "spiky"


def test_a_pipeline_that_takes_nothing_any_more_does_not_keep_its_rate() -> None:
    # Until 50 s each commit takes what came within two seconds.
    taken = LOGGED[LOGGED < 50_000]
    events = made_events(taken, 2_000 - taken % 2_000)

    assert rate_of_commits(events, BEGAN_MS + 20_000, BEGAN_MS + 52_000) == pytest.approx(RATE)
    # From the commit at 22 s to that at 50 s; then nothing for 8 s beyond the usual two.
    assert rate_of_commits(events, BEGAN_MS + 20_000, BEGAN_MS + 60_000) == pytest.approx(RATE * 28 / 36)


def test_a_pipeline_so_slow_that_no_two_commits_fall_within_is_looked_at_until_the_second_one() -> None:
    # What comes within 25 s is committed at once, 20 s after that.
    events = made_events(LOGGED, 45_000 - LOGGED % 25_000)

    assert sorted(set(events.t7 - BEGAN_MS)) == [45_000, 70_000, 95_000]
    assert rate_of_commits(events, BEGAN_MS + 40_000, BEGAN_MS + 60_000) == pytest.approx(RATE)
    assert rate_of_commits(events, BEGAN_MS + 75_000, BEGAN_MS + 80_000) == pytest.approx(1000 / 20)  # only one is left
    assert rate_of_commits(events, BEGAN_MS + 95_000, BEGAN_MS + 99_000) is None


def test_seconds_are_counted_from_the_beginning_and_have_their_own_p95_and_the_queue_of_before() -> None:
    before = made_events([-2000, -1000, 500], [3500, 500, 2000])
    events = made_events([0, 999, 1000, 2500], [10, 20, 30, 40])

    assert list(queue_of(before, BEGAN_MS, 3)) == [2, 1, 0]
    assert list(per_second(events.t0, BEGAN_MS, 4)) == [2, 1, 1, 0]
    assert p95_by_second(events, BEGAN_MS, 4) == [(2, pytest.approx(19.5)), (1, 30.0), (1, 40.0), (0, None)]


def test_a_timeline_has_the_time_per_stage_and_the_events_past_each_point() -> None:
    events = made_events([-500, 0, 500, 2500], [600, 100, 1100, 400])

    timeline = timeline_of_run(reconciled(events), Wanted("r", "s", 1.0, 4.0), BEGAN_MS)

    assert (timeline.what, timeline.done) == ("", [2, 1, 1, 0])
    assert timeline.latency_p95_ms == [pytest.approx(1050), None, 400.0, None]
    assert timeline.series["filebeat_ms"] == [600.0, None, 400.0, None]
    assert timeline.series["aggregator_ms"] == [0.0, None, 0.0, None]
    assert timeline.series["logged_events_s"] == [2.0, 0.0, 1.0, 0.0]
    assert timeline.series["shipped_events_s"] == [2.0, 1.0, 1.0, 0.0]
    assert timeline.series["queue_events"] == [1.0, 0.0, 0.0, 0.0]


def test_in_flight_events_are_logged_and_queued_to_the_end() -> None:
    found = reconciled(made_events([0], [500]), pending_ms=[100, 1200], waited_until_ms=9_000)

    timeline = timeline_of_run(found, Wanted("r", "s", 1.0, 3.0), BEGAN_MS)

    assert timeline.series["logged_events_s"] == [2.0, 1.0, 0.0]
    assert timeline.series["shipped_events_s"] == [1.0, 0.0, 0.0]
    assert timeline.series["queue_events"] == [1.0, 2.0, 2.0]
    assert timeline.latency_p95_ms[1] == 7_800


def test_logged_requests_are_placed_by_the_accelerated_clock() -> None:
    wanted = Wanted("r", "s", 50.0, 6.0, burst_from_s=1.5, burst_until_s=4.25, burst_times=3.0)
    events = made_events([0, 1499, 1500, 4249, 4250, 6000], [10] * 6)

    assert list(part_of_burst(events.t0, BEGAN_MS, wanted)) == ["before", "before", "in", "in", "after", "after"]
    timeline = timeline_of_run(reconciled(events), wanted, BEGAN_MS)
    assert (timeline.what, timeline.began_s, timeline.ended_s) == ("burst", 1.5, 4.25)
