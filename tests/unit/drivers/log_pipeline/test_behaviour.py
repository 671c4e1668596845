"""Labels runs whose behaviour was made up."""

from __future__ import annotations

import numpy as np
import pytest

from kafka_pareto.drivers.log_pipeline.behaviour import (
    label_of,
    p95_by_second,
    per_second,
    queue_of,
    slope_of_second_half,
    spikes,
)
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
    # It falls behind by a tenth from 40 s on, and makes up for it at the end of the run: p95 no longer rises.
    behind = np.where(LOGGED < 40_000, 100.0, np.where(LOGGED < 45_000, (LOGGED - 40_000) * 0.6 + 100, 3_100.0))

    assert label_of(made_events(LOGGED, behind), BEGAN_MS, SECONDS, 40) == "throttled"


def test_one_second_with_six_times_the_mean_is_a_spike() -> None:
    # What is logged in ten seconds comes in one.
    waits = 10_000 - LOGGED % 10_000
    events = made_events(LOGGED, waits)

    assert spikes(events, BEGAN_MS, SECONDS)["hive"] == pytest.approx(10, rel=0.2)
    assert label_of(events, BEGAN_MS, SECONDS, 40) == "spiky"


def test_seconds_are_counted_from_the_beginning_and_have_their_own_p95() -> None:
    events = made_events([0, 999, 1000, 2500], [10, 20, 30, 40])

    assert list(per_second(events.t0, BEGAN_MS, 4)) == [2, 1, 1, 0]
    assert p95_by_second(events, BEGAN_MS, 4) == [(2, pytest.approx(19.5)), (1, 30.0), (1, 40.0), (0, None)]
