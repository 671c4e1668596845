from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from kafka_pareto.campaign.records import Timeline
from kafka_pareto.comparison.figures import part_figures
from kafka_pareto.comparison.records import PartComparison
from kafka_pareto.comparison.time_figures import draw_over_time, pace_over_time
from kafka_pareto.study.declaration import OverTime
from kafka_pareto.study.declarations import drivers
from tests.unit.comparison.made_parts import COMPARED, codec_part

pytestmark = [pytest.mark.fast, pytest.mark.slow]

STAGES = COMPARED[:2]
FLOW = OverTime(begins_with="request", done="committed", waiting="queue_events")
PACES = OverTime(begins_with="row", passes=(("cold_rows_s", "cold"), ("rows_s", "warm")))


def watched(latency_p95_ms: list[float | None]) -> Timeline:
    series: dict[str, list[float | None]] = {
        STAGES[0].name: [1.0, None, 2.0],
        STAGES[1].name: [10.0, None, 20.0],
        "shipped_events_s": [4.0, 4.0, 4.0],
        "queue_events": [1.0, 2.0, 1.0],
    }
    burst: dict[str, Any] = {"what": "burst", "began_s": 1.0, "ended_s": 2.0}
    return Timeline(**burst, done=[3, 4, 5], latency_p95_ms=latency_p95_ms, series=series)


WATCHED = [watched([10.0, None, 30.0]), watched([20.0, None, None])]
BROKEN = Timeline(
    what="kafka-2", began_s=2.0, ended_s=4.0, done=[9, 10, 0, 0, 25], latency_p95_ms=[4.0, 5.0, None, None, 1900.0]
)
PACED = [
    Timeline(done=[], latency_p95_ms=[], series={"rows_s": each}, slice_s=0.25)
    for each in ([10.0, 20.0], [30.0, 40.0, 50.0], [20.0, 30.0])
]


def part_with(timelines: list[Timeline]) -> PartComparison:
    part = codec_part()
    first, *others = part.levels
    return part.model_copy(update={"levels": [first.model_copy(update={"timelines": timelines}), *others]})


def drawn(name: str, timelines: list[Timeline], over_time: OverTime, stages: Any = ()) -> Figure:
    return draw_over_time(part_with(timelines), stages, over_time)[name][1]


def test_a_level_has_one_bar_whose_stages_follow_each_other() -> None:
    (axes,) = drawn("stages", [], OverTime(), STAGES).axes
    first, second = axes.containers
    for level, begun, ended in zip(codec_part().levels, first, second, strict=True):
        assert begun.get_width() == ended.get_x() == pytest.approx(level.means[STAGES[0].name])


def test_a_level_stacks_its_stages_and_shows_passed_and_waiting_records() -> None:
    stages, rates, queue = drawn("flow", WATCHED, FLOW, STAGES).axes

    tops = [area.get_paths()[0].get_extents().ymax for area in stages.collections]
    assert tops == [2.0, 22.0]
    passed = {line.get_label(): list(line.get_ydata()) for line in rates.lines}
    assert passed == {"shipped": [4.0, 4.0, 4.0], "committed": [3, 4, 5]}
    assert queue.collections[0].get_paths()[0].get_extents().ymax == 2.0
    assert [axes.get_ylabel() for axes in (rates, queue)] == ["events/s", "queue, events"]
    assert queue.get_xlabel() == "seconds since the first request"
    assert all((axes.patches[0].get_x(), axes.patches[0].get_width()) == (1.0, 1.0) for axes in (stages, rates, queue))


def test_the_latency_of_a_second_is_the_mean_over_those_that_have_one() -> None:
    figure = drawn("latencies", WATCHED, FLOW, STAGES)
    values = np.asarray(figure.axes[0].lines[0].get_ydata(), dtype=float)
    np.testing.assert_equal(values, [15.0, np.nan, 30.0])


def test_a_fault_has_a_line_for_each_repetition_and_a_gap_where_nothing_was_confirmed() -> None:
    done, latency = drawn("timelines", [BROKEN, BROKEN], OverTime(done="orders confirmed")).axes

    assert [list(line.get_ydata()) for line in done.lines] == [BROKEN.done, BROKEN.done]
    assert done.get_ylabel() == "orders confirmed each second"
    assert list(np.isnan(np.asarray(latency.lines[0].get_ydata(), dtype=float))) == [False, False, True, True, False]
    assert latency.get_yscale() == "log"
    (shaded,) = done.patches
    assert (shaded.get_x(), shaded.get_width()) == (2.0, 2.0)


def test_the_rate_in_a_slice_is_the_median_of_the_repetitions_that_reach_it() -> None:
    assert pace_over_time(PACED, "rows_s") == ([0.125, 0.375, 0.625], [20.0, 30.0, 50.0])
    assert pace_over_time(PACED, "cold_rows_s") == ([], [])
    cold, warm = drawn("settling", PACED, PACES).axes
    assert [axes.get_title() for axes in (cold, warm)] == ["cold", "warm"]
    assert cold.get_ylabel() == "rows/s"


@pytest.mark.parametrize(
    ("timelines", "stages", "over_time", "names"),
    [
        ([], (), FLOW, []),
        ([], STAGES, FLOW, ["stages"]),
        (WATCHED, STAGES, FLOW, ["stages", "latencies", "flow"]),
        ([BROKEN], (), OverTime(), ["timelines"]),
        (PACED, (), PACES, ["settling"]),
        (PACED, (), OverTime(), []),
    ],
)
def test_only_sampled_series_have_a_figure(
    timelines: list[Timeline], stages: Any, over_time: OverTime, names: list[str]
) -> None:
    part = part_with(timelines)
    figures = part_figures(part, stages, over_time)
    assert list(figures) == [f"{part.part}_{name}.png" for name in ("levels", *names)]


def test_timelines_declared_by_a_driver_are_series_it_may_have() -> None:
    for driver in drivers().values():
        assert {name for name, _ in driver.over_time.passes} <= {each.name for each in driver.quantities}
