"""Looks at what is drawn of a fault, second by second."""

from __future__ import annotations

import numpy as np
import pytest

from kafka_pareto.campaign.records import Timeline
from kafka_pareto.comparison.figures import part_figures
from kafka_pareto.comparison.records import PartComparison
from kafka_pareto.comparison.timeline_figure import draw_timelines
from tests.unit.comparison.made_parts import COMPARED, codec_part

pytestmark = pytest.mark.fast

BROKEN = Timeline(
    what="kafka-2", began_s=2.0, ended_s=4.0, done=[9, 10, 0, 0, 25], latency_p95_ms=[4.0, 5.0, None, None, 1900.0]
)


def broken_part() -> PartComparison:
    part = codec_part()
    first, *others = part.levels
    return part.model_copy(update={"levels": [first.model_copy(update={"timelines": [BROKEN, BROKEN]}), *others]})


def test_a_level_has_a_line_for_each_repetition_and_a_gap_where_nothing_was_confirmed() -> None:
    figure = draw_timelines(broken_part())

    assert figure is not None
    done, latency = figure.axes
    assert [list(line.get_ydata()) for line in done.lines] == [BROKEN.done, BROKEN.done]
    assert list(np.isnan(np.asarray(latency.lines[0].get_ydata(), dtype=float))) == [False, False, True, True, False]
    assert latency.get_yscale() == "log"
    (shaded,) = done.patches
    assert (shaded.get_x(), shaded.get_width()) == (2.0, 2.0)


def test_only_a_part_in_which_something_was_broken_has_the_figure() -> None:
    assert draw_timelines(codec_part()) is None
    part = broken_part()
    assert list(part_figures(part, COMPARED)) == [f"{part.part}_levels.png", f"{part.part}_timelines.png"]
