"""Labels runs whose behaviour was made up."""

from __future__ import annotations

import numpy as np
import pytest

from kafka_pareto.drivers.log_pipeline.behaviour import label_of, rate_of_commits, slope_of_second_half, spikes
from kafka_pareto.drivers.log_pipeline.by_second import queue_of
from tests.unit.drivers.log_pipeline.made_events import BEGAN_MS, even, made_events, reconciled

pytestmark = pytest.mark.fast

SECONDS, RATE = 60, 100.0
LOGGED = even(RATE, SECONDS)


def test_a_pipeline_that_keeps_up_is_stable_however_late_it_is() -> None:
    events = made_events(LOGGED, np.full(len(LOGGED), 15_000.0))

    assert label_of(reconciled(events), BEGAN_MS, SECONDS, 40) == "stable"
    assert list(queue_of(events, BEGAN_MS, SECONDS)[[0, 9, 20, 59]]) == [100, 1000, 1500, 1500]
    slope = slope_of_second_half(events, BEGAN_MS, SECONDS)
    assert slope is not None
    assert (slope.low, slope.high) == pytest.approx((0, 0), abs=1e-9)


def test_batches_of_uneven_length_do_not_make_a_queue_look_as_if_it_grew() -> None:
    # Each commit takes all that was logged by then: the queue goes up and down between them, and nowhere else.
    commits = (
        np.array([1.0, 4.5, 7.0, 12.0, 14.5, 19.0, 23.5, 26.0, 31.5, 35.0, 38.0, 43.0, 46.0, 50.5, 55.0, 61.0]) * 1000
    )
    events = made_events(LOGGED, commits[np.searchsorted(commits, LOGGED, side="right")] - LOGGED)

    slope = slope_of_second_half(events, BEGAN_MS, SECONDS)
    assert slope is not None
    assert (slope.low, slope.high) == pytest.approx((0, 0), abs=0.1)


def test_a_queue_without_a_commit_grows_by_what_is_logged() -> None:
    waiting = reconciled(made_events([], []), pending_ms=LOGGED, waited_until_ms=120_000).arrivals

    slope = slope_of_second_half(waiting, BEGAN_MS, SECONDS)
    assert slope is not None
    assert slope.value == pytest.approx(RATE, rel=0.001)


def test_a_queue_that_grows_and_is_not_done_in_time_collapses() -> None:
    # A third of what is logged comes, in time; the rest not until the wait for it is over.
    comes = np.arange(len(LOGGED)) % 3 == 0
    events = made_events(LOGGED[comes], np.full(comes.sum(), 200.0))

    assert label_of(reconciled(events), BEGAN_MS, SECONDS, 40) == "stable"
    assert label_of(reconciled(events, LOGGED[~comes], 120_000), BEGAN_MS, SECONDS, 40) == "collapsed"


def test_a_pipeline_that_takes_nothing_any_more_does_not_keep_its_rate() -> None:
    # Until 50 s each commit takes what came within two seconds.
    taken = LOGGED[LOGGED < 50_000]
    events = made_events(taken, 2_000 - taken % 2_000)

    assert rate_of_commits(events, BEGAN_MS + 20_000, BEGAN_MS + 52_000) == pytest.approx(RATE)
    # From the commit at 22 s to that at 50 s; then nothing for 8 s beyond the usual two.
    assert rate_of_commits(events, BEGAN_MS + 20_000, BEGAN_MS + 60_000) == pytest.approx(RATE * 28 / 36)


def test_a_queue_that_grows_with_its_latency_collapses() -> None:
    # Only half of what is logged is taken in time.
    events = made_events(LOGGED, LOGGED)

    assert label_of(reconciled(events), BEGAN_MS, SECONDS, 40) == "collapsed"
    slope = slope_of_second_half(events, BEGAN_MS, SECONDS)
    assert slope is not None
    assert slope.value == pytest.approx(RATE / 2, rel=0.05)


def test_a_pipeline_that_takes_less_than_is_logged_is_throttled() -> None:
    # It takes nine events in the time of ten; beside what they wait anyway it hardly shows how much longer that gets.
    events = made_events(LOGGED, 30_000.0 + LOGGED / 9)

    assert rate_of_commits(events, BEGAN_MS + 40_000, BEGAN_MS + 60_000) == pytest.approx(90, rel=0.01)
    assert label_of(reconciled(events), BEGAN_MS, SECONDS, 40) == "throttled"


def test_batches_do_not_make_a_pipeline_look_throttled() -> None:
    # What comes within three seconds is committed at once.
    events = made_events(LOGGED, 3_000 - LOGGED % 3_000)

    for from_s in (10, 11, 12, 13):
        assert rate_of_commits(events, BEGAN_MS + from_s * 1000, BEGAN_MS + 60_000) == pytest.approx(RATE)
        assert label_of(reconciled(events), BEGAN_MS, SECONDS, from_s) == "stable"


def test_chance_does_not_make_a_pipeline_look_throttled_in_a_short_run() -> None:
    # All come through in three seconds; what is committed in the last six was logged before what is logged in them.
    labels = []
    for seed in range(100):
        logged = np.sort(np.random.default_rng(seed).uniform(0, 10_000, 500))
        labels.append(label_of(reconciled(made_events(logged, np.full(500, 3_000.0))), BEGAN_MS, 10, 4))

    assert labels.count("throttled") <= 5


def test_a_short_run_that_takes_three_quarters_is_throttled() -> None:
    logged = even(50.0, 10)

    assert label_of(reconciled(made_events(logged, 30_000.0 + logged / 3)), BEGAN_MS, 10, 4) == "throttled"


def test_a_pipeline_so_slow_that_no_two_commits_fall_within_is_looked_at_until_the_second_one() -> None:
    # What comes within 25 s is committed at once, 20 s after that.
    events = made_events(LOGGED, 45_000 - LOGGED % 25_000)

    assert sorted(set(events.t7 - BEGAN_MS)) == [45_000, 70_000, 95_000]
    assert rate_of_commits(events, BEGAN_MS + 40_000, BEGAN_MS + 60_000) == pytest.approx(RATE)
    assert rate_of_commits(events, BEGAN_MS + 75_000, BEGAN_MS + 80_000) == pytest.approx(1000 / 20)  # only one is left
    assert rate_of_commits(events, BEGAN_MS + 95_000, BEGAN_MS + 99_000) is None


def test_one_second_with_six_times_the_mean_is_a_spike() -> None:
    # What is logged in ten seconds comes in one. To Hive it comes in batches, of which each has as much as the others.
    waits = 10_000 - LOGGED % 10_000
    events = made_events(LOGGED, waits)

    found = spikes(events, BEGAN_MS, SECONDS)
    assert (found["shipper"], found["aggregator"]) == (pytest.approx(10, rel=0.2), pytest.approx(10, rel=0.2))
    assert found["hive"] < 1.5
    assert label_of(reconciled(events), BEGAN_MS, SECONDS, 40) == "spiky"
