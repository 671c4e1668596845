"""A pace over time is the median of the repetitions that last so long."""

from __future__ import annotations

import pytest

from kafka_pareto.campaign.records import Timeline
from kafka_pareto.comparison.settling_figure import pace_over_time

pytestmark = pytest.mark.fast


def test_the_pace_in_a_slice_is_the_median_of_the_repetitions_that_reach_it() -> None:
    paces: list[list[float | None]] = [[10.0, 20.0], [30.0, 40.0, 50.0], [20.0, 30.0]]
    timelines = [Timeline(done=[], latency_p95_ms=[], series={"rows_s": each}, slice_s=0.25) for each in paces]

    assert pace_over_time(timelines, "rows_s") == ([0.125, 0.375, 0.625], [20.0, 30.0, 50.0])
    assert pace_over_time(timelines, "cold_rows_s") == ([], [])
