"""Draw latency stages and timelines of a part; the driver declares the stages and, in `OverTime`, the labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from kafka_pareto.campaign.records import Timeline
from kafka_pareto.comparison.chart_axes import PLAIN, name_values
from kafka_pareto.comparison.records import Level, PartComparison
from kafka_pareto.comparison.words import level_text, number_text
from kafka_pareto.report.figures import shared_legend
from kafka_pareto.study.declaration import OverTime
from kafka_pareto.study.quantity import Quantity

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "black")
_LINES = ("-", "--", ":", "-.")
_STAGE_COLOURS = ("#0072B2", "#56B4E9", "#009E73", "#F0E442", "#E69F00", "#D55E00", "#CC79A7", "#8a8a8a")
_STAGE_HATCHES = ("", "//", "", "\\\\", "", "xx", "", "..")
_GREY = "#8a8a8a"


def draw_over_time(
    part: PartComparison, stages: Sequence[Quantity], over_time: OverTime
) -> Mapping[str, tuple[str, Figure]]:
    """Return caption and figure by figure name, for what the part measured.

    Args:
        part: The part.
        stages: Quantities that add up to a whole, in order of time.
        over_time: How the driver labels its timelines.
    """
    found = {}
    names = {stage.name for stage in stages}
    if levels := [level for level in part.levels if names and names <= level.means.keys()]:
        found["stages"] = ("Mean time per stage; whole bars are the sums.", draw_stages(levels, stages))
    timed = [level for level in part.levels if level.timelines]
    if watched := [level for level in timed if names and names <= set(level.timelines[0].series)]:
        found["latencies"] = (
            "p95 latency by the second of logging, averaged over the repetitions." + _shaded(watched[:1]),
            draw_latencies(watched, over_time),
        )
        found["flow"] = (
            "The first valid repetition of each level, each on its own scale. Top: the mean time per stage by the "
            "second of logging; middle: the throughput at each stage; bottom: the queue (logged, not yet stored)."
            + _shaded(watched),
            draw_flow(watched, stages, over_time),
        )
    if broken := [level for level in timed if not stages and level.timelines[0].done]:
        found["timelines"] = (
            "One line per repetition. Shaded: the first repetition's fault. Where the latency has a gap, "
            "nothing was confirmed.",
            draw_fault(broken, over_time),
        )
    last = over_time.passes[-1][0] if over_time.passes else ""
    if paced := [level for level in timed if any(last in each.series for each in level.timelines)]:
        pace = _unlabelled(last).unit.replace("/s", " per second")
        found["settling"] = (
            f"{pace.capitalize()} over time, the median of the repetitions. A rising rate is still warming up.",
            draw_settling(paced, over_time),
        )
    return found


def draw_stages(levels: Sequence[Level], stages: Sequence[Quantity]) -> Figure:
    """Draw one stacked bar per level from the stages' means."""
    figure = Figure(figsize=(9.0, 0.5 * len(levels) + 1.9), layout="constrained")
    axes = figure.subplots()
    names, begins = [level_text(level) for level in levels], [0.0] * len(levels)
    for at, stage in enumerate(stages):
        widths = [level.means[stage.name] for level in levels]
        hatch = _STAGE_HATCHES[at % len(_STAGE_HATCHES)]
        style: dict[str, Any] = {"color": _stage_colour(at), "hatch": hatch, "edgecolor": "white", "label": stage.words}
        axes.barh(names, widths, left=begins, **style)
        begins = [begin + width for begin, width in zip(begins, widths, strict=True)]
    for name, end in zip(names, begins, strict=True):
        axes.annotate(f" {number_text(end)}", (end, name), va="center")
    axes.invert_yaxis()
    axes.margins(x=0.1)
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_formatter(PLAIN)
    axes.set_xlabel(f"mean time, {stages[0].unit}")
    shared_legend(figure)
    return figure


def draw_latencies(levels: Sequence[Level], over_time: OverTime) -> Figure:
    """Draw the latency of all levels over the run."""
    figure = Figure(figsize=(9.0, 4.0), layout="constrained")
    axes: Any = figure.subplots()
    drawn: list[float] = []
    for at, level in enumerate(levels):
        latencies = _mean_over([each.latency_p95_ms for each in level.timelines])
        axes.plot(_seconds(level.timelines[0]), latencies, label=level_text(level), linewidth=1.4, **_line(at))
        drawn += [value for value in latencies if value > 0]
    _shade(axes, level=levels[0])
    if drawn:
        name_values(axes, drawn)
    axes.set(xlabel=f"seconds since the first {over_time.begins_with}", ylabel="p95 latency, ms")
    shared_legend(figure)
    return figure


def draw_flow(levels: Sequence[Level], stages: Sequence[Quantity], over_time: OverTime) -> Figure:
    """Draw a column for each level: latency stages, throughput at each stage, and queue."""
    figure, rows = _columns(3, levels, 7.0)
    names = {over_time.waiting, *(stage.name for stage in stages)}
    rates = [_unlabelled(name) for name in levels[0].timelines[0].series if name not in names]
    for column, level in enumerate(levels):
        timeline = level.timelines[0]
        above, middle, below = (each[column] for each in rows)
        heights = [[value or 0.0 for value in timeline.series[stage.name]] for stage in stages]
        colours = [_stage_colour(at) for at in range(len(stages))]
        above.stackplot(_seconds(timeline), heights, colors=colours, labels=[stage.words for stage in stages])
        passed = [*((each.words, timeline.series[each.name]) for each in rates), (over_time.done, timeline.done)]
        for at, (label, values) in enumerate(passed):
            middle.plot(_seconds(timeline), values, label=label, linewidth=1.0, **_line(at))
        queue = [value or 0 for value in timeline.series[over_time.waiting]]
        below.fill_between(_seconds(timeline), queue, color=_GREY, alpha=0.6, linewidth=0)
        for axes in (above, middle, below):
            _shade(axes, level)
            axes.set_ylim(0, None)
            axes.yaxis.set_major_formatter(PLAIN)
        above.set_title(level_text(level))
        below.set_xlabel(f"seconds since the first {over_time.begins_with}")
    waits = f"queue, {_unlabelled(over_time.waiting).unit}"
    for row, text in zip(rows, (f"time, {stages[0].unit}", rates[0].unit, waits), strict=True):
        row[0].set_ylabel(text)
    shared_legend(figure)
    return figure


def draw_fault(levels: Sequence[Level], over_time: OverTime) -> Figure:
    """Draw a column for each level with a fault: completed records and their latency."""
    figure, rows = _columns(2, levels, 4.2, sharey="row")
    for column, level in enumerate(levels):
        done, latency = rows[0][column], rows[1][column]
        for axes in (done, latency):
            _shade(axes, level, least_s=1)
        for at, timeline in enumerate(level.timelines):
            style = {"color": _COLOURS[at % len(_COLOURS)], "linewidth": 1.0, "alpha": 0.85}
            done.plot(_seconds(timeline), timeline.done, **style)
            gaps = np.array(timeline.latency_p95_ms, dtype=float)
            latency.plot(_seconds(timeline), gaps, marker=".", markersize=2.5, **style)
        done.set_title(level_text(level))
        latency.set_xlabel(f"seconds since the first {over_time.begins_with}")
    latencies = [value for level in levels for each in level.timelines for value in each.latency_p95_ms if value]
    if latencies:
        name_values(rows[1][0], latencies)
    rows[0][0].set(ylabel=f"{over_time.done} each second", ylim=(0, None))
    rows[1][0].set_ylabel("their p95 latency, ms")
    return figure


def draw_settling(levels: Sequence[Level], over_time: OverTime) -> Figure:
    """Draw a line for each level over the duration of a pass: how the rate settles."""
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    all_axes: Any = figure.subplots(1, len(over_time.passes), sharey=True)
    for axes, (name, title) in zip(all_axes, over_time.passes, strict=True):
        for level in levels:
            seconds, paces = pace_over_time(level.timelines, name)
            axes.plot(seconds, paces, label=level_text(level), linewidth=1.2)
        axes.set(title=title, xlabel=f"seconds since the first {over_time.begins_with}", ylim=(0, None))
    all_axes[0].set_ylabel(_unlabelled(over_time.passes[-1][0]).unit)
    all_axes[-1].legend(fontsize="small")
    return figure


def pace_over_time(timelines: Sequence[Timeline], name: str) -> tuple[list[float], list[float]]:
    """Return the slices' midpoints and median rates, over the timelines that last that long."""
    known = [each for each in timelines if each.series.get(name)]
    slices = zip_longest(*(each.series[name] for each in known))
    paces = [float(np.median([pace for pace in of_slice if pace is not None])) for of_slice in slices]
    return [(at + 0.5) * known[0].slice_s for at in range(len(paces))], paces


def _columns(rows: int, levels: Sequence[Level], height: float, sharey: Any = False) -> tuple[Figure, Any]:
    figure = Figure(figsize=(max(3.1 * len(levels), 6.0), height), layout="constrained")
    return figure, figure.subplots(rows, len(levels), squeeze=False, sharex=True, sharey=sharey)


def _shaded(levels: Sequence[Level]) -> str:
    """Return the caption's sentence on the shaded area; empty without one."""
    return " Shaded: the burst." if any(level.timelines[0].what for level in levels) else ""


def _shade(axes: Any, level: Level, least_s: float = 0) -> None:
    first = level.timelines[0]
    if first.what:
        ended_s = max(first.ended_s, first.began_s + least_s)
        axes.axvspan(first.began_s, ended_s, color=_GREY, alpha=0.2, linewidth=0, zorder=0)


def _line(at: int) -> dict[str, str]:
    return {"color": _COLOURS[at % len(_COLOURS)], "linestyle": _LINES[at % len(_LINES)]}


def _stage_colour(at: int) -> str:
    return _STAGE_COLOURS[at % len(_STAGE_COLOURS)]


def _unlabelled(name: str) -> Quantity:
    return Quantity(name, float, may_be_missing=True)


def _seconds(timeline: Timeline) -> np.ndarray:
    return np.arange(len(timeline.done)) + 0.5


def _mean_over(series: Sequence[Sequence[float | None]]) -> np.ndarray:
    """Return the mean per second over the series that have a value then; NaN without any."""
    values = np.ma.masked_invalid(np.array(series, dtype=float))
    return np.asarray(values.mean(axis=0).filled(np.nan), dtype=float)
