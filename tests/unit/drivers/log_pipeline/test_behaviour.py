"""Labels runs whose behaviour was made up."""

from __future__ import annotations

import numpy as np
import pytest

from kafka_pareto.drivers.log_pipeline.behaviour import label_of, rate_of_commits, slope_of_second_half, spikes
from kafka_pareto.drivers.log_pipeline.by_second import queue_of
from tests.unit.drivers.log_pipeline.made_events import BEGAN_MS, even, made_events

pytestmark = pytest.mark.fast

SECONDS, RATE = 60, 100.0
LOGGED = even(RATE, SECONDS)


def test_a_pipeline_that_keeps_up_is_stable_however_late_it_is() -> None:
    events = made_events(LOGGED, np.full(len(LOGGED), 15_000.0))

    assert label_of(events, BEGAN_MS, SECONDS, 40) == "stable"
    assert list(queue_of(events, BEGAN_MS, SECONDS)[[0, 9, 20, 59]]) == [100, 1000, 1500, 1500]
    slope = slope_of_second_half(queue_of(events, BEGAN_MS, SECONDS))
    assert slope is not None
    assert slope.low <= 0 <= slope.high


def test_a_queue_that_grows_with_its_latency_collapses() -> None:
    # Only half of what is logged is taken in time.
    events = made_events(LOGGED, LOGGED)

    assert label_of(events, BEGAN_MS, SECONDS, 40) == "collapsed"
    slope = slope_of_second_half(queue_of(events, BEGAN_MS, SECONDS))
    assert slope is not None
    assert slope.value == pytest.approx(RATE / 2, rel=0.05)


def test_a_pipeline_that_takes_less_than_is_logged_is_throttled() -> None:
    # It takes nine events in the time of ten; beside what they wait anyway it hardly shows how much longer that gets.
    events = made_events(LOGGED, 30_000.0 + LOGGED / 9)

    assert rate_of_commits(events, BEGAN_MS + 40_000, BEGAN_MS + 60_000) == pytest.approx(90, rel=0.01)
    assert label_of(events, BEGAN_MS, SECONDS, 40) == "throttled"


def test_batches_do_not_make_a_pipeline_look_throttled() -> None:
    # What comes within three seconds is committed at once.
    events = made_events(LOGGED, 3_000 - LOGGED % 3_000)

    for from_s in (10, 11, 12, 13):
        assert rate_of_commits(events, BEGAN_MS + from_s * 1000, BEGAN_MS + 60_000) == pytest.approx(RATE)
        assert label_of(events, BEGAN_MS, SECONDS, from_s) == "stable"


def test_one_second_with_six_times_the_mean_is_a_spike() -> None:
    # What is logged in ten seconds comes in one.
    waits = 10_000 - LOGGED % 10_000
    events = made_events(LOGGED, waits)

    assert spikes(events, BEGAN_MS, SECONDS)["hive"] == pytest.approx(10, rel=0.2)
    assert label_of(events, BEGAN_MS, SECONDS, 40) == "spiky"
