"""Looks at what is drawn of a pipeline, second by second."""

from __future__ import annotations

import numpy as np
import pytest

from kafka_pareto.campaign.records import Timeline
from kafka_pareto.comparison.figures import part_figures
from kafka_pareto.comparison.flow_figure import draw_flow, draw_latencies
from kafka_pareto.comparison.records import PartComparison
from tests.unit.comparison.made_parts import COMPARED, codec_part

pytestmark = pytest.mark.fast

STAGES = COMPARED[:2]


def timeline(latency_p95_ms: list[float | None]) -> Timeline:
    return Timeline(
        what="burst",
        began_s=1.0,
        ended_s=2.0,
        done=[3, 4, 5],
        latency_p95_ms=latency_p95_ms,
        series={
            STAGES[0].name: [1.0, None, 2.0],
            STAGES[1].name: [10.0, None, 20.0],
            "shipped_events_s": [4.0, 4.0, 4.0],
            "queue_events": [1.0, 2.0, 1.0],
        },
    )


def watched_part() -> PartComparison:
    part = codec_part()
    first, *others = part.levels
    timelines = [timeline([10.0, None, 30.0]), timeline([20.0, None, None])]
    return part.model_copy(update={"levels": [first.model_copy(update={"timelines": timelines}), *others]})


def test_a_level_has_its_stages_on_top_of_each_other_what_passed_and_what_waits() -> None:
    figure = draw_flow(watched_part(), STAGES)

    assert figure is not None
    stages, rates, queue = figure.axes
    tops = [area.get_paths()[0].get_extents().ymax for area in stages.collections]
    assert tops == [2.0, 22.0]
    assert [list(line.get_ydata()) for line in rates.lines] == [[4.0, 4.0, 4.0], [3, 4, 5]]
    assert queue.collections[0].get_paths()[0].get_extents().ymax == 2.0
    assert all((axes.patches[0].get_x(), axes.patches[0].get_width()) == (1.0, 1.0) for axes in figure.axes)


def test_the_latency_of_a_second_is_the_mean_over_those_that_have_one() -> None:
    figure = draw_latencies(watched_part(), STAGES)

    assert figure is not None
    first, second, third = np.asarray(figure.axes[0].lines[0].get_ydata(), dtype=float)
    assert (first, third) == (15.0, 30.0)
    assert np.isnan(second)


def test_only_what_was_watched_has_these_figures() -> None:
    assert draw_flow(codec_part(), STAGES) is None
    assert draw_latencies(codec_part(), STAGES) is None
    assert draw_flow(watched_part(), ()) is None
    part = watched_part()
    names = [f"{part.part}_{kind}.png" for kind in ("levels", "stages", "latencies", "flow")]
    assert list(part_figures(part, COMPARED, STAGES)) == names
