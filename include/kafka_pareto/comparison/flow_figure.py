"""Draws what a pipeline was like second by second: where the time went, what passed each point, what waited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from kafka_pareto.campaign.records import Timeline
from kafka_pareto.comparison.chart_axes import name_values
from kafka_pareto.comparison.records import Level, PartComparison
from kafka_pareto.comparison.stage_figure import stage_colour
from kafka_pareto.comparison.words import level_text, quantity_named
from kafka_pareto.report.figures import shared_legend
from kafka_pareto.study.quantity import Quantity

FLOW_CAPTION = (
    "The first valid repetition of each, each on a scale of its own. Above: the mean time in each stage of what was "
    "logged in a second; middle: what passed each point in it; below: what was logged and had not come to its end. "
    "Shaded: a burst."
)
LATENCIES_CAPTION = "The p95 latency of what was logged in each second, the mean over the repetitions. Shaded: a burst."
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "black")
_STYLES = ("-", "--", ":", "-.")
_GREY = "#8a8a8a"
_COLUMN_INCHES, _HEIGHT_INCHES = 3.1, 7.0
_RATE = "events/s"


def draw_flow(part: PartComparison, stages: Sequence[Quantity]) -> Figure | None:
    """Draws a column for each level that was looked at second by second; None where none was."""
    levels = _watched(part, stages)
    if not levels:
        return None
    width = max(_COLUMN_INCHES * len(levels), 6.0)
    figure = Figure(figsize=(width, _HEIGHT_INCHES), layout="constrained")
    rows: Any = figure.subplots(3, len(levels), squeeze=False, sharex=True)
    for column, level in enumerate(levels):
        timeline = level.timelines[0]
        _draw_stages(rows[0][column], timeline, stages)
        _draw_rates(rows[1][column], timeline)
        queue = [value or 0 for value in timeline.series["queue_events"]]
        rows[2][column].fill_between(_seconds(timeline), queue, color=_GREY, alpha=0.6, linewidth=0)
        for axes in (each[column] for each in rows):
            _shade(axes, timeline)
            axes.set_ylim(0, None)
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        rows[0][column].set_title(level_text(level))
        rows[2][column].set_xlabel("seconds since the first request")
    for axes, text in zip(
        (each[0] for each in rows), (f"time, {stages[0].unit}", _RATE, "events that wait"), strict=True
    ):
        axes.set_ylabel(text)
    shared_legend(figure)
    return figure


def draw_latencies(part: PartComparison, stages: Sequence[Quantity]) -> Figure | None:
    """Draws the latency of all levels over the seconds of their runs; None where none was looked at."""
    levels = _watched(part, stages)
    if not levels:
        return None
    figure = Figure(figsize=(9.0, 4.0), layout="constrained")
    axes: Any = figure.subplots()
    drawn: list[float] = []
    for at, level in enumerate(levels):
        latencies = _mean_over([each.latency_p95_ms for each in level.timelines])
        style = {"color": _COLOURS[at % len(_COLOURS)], "linestyle": _STYLES[at % len(_STYLES)]}
        axes.plot(_seconds(level.timelines[0]), latencies, label=level_text(level), linewidth=1.4, **style)
        drawn += [value for value in latencies if value > 0]
    _shade(axes, levels[0].timelines[0])
    if drawn:
        name_values(axes, drawn)
    axes.set(xlabel="seconds since the first request", ylabel="p95 latency, ms")
    shared_legend(figure)
    return figure


def _watched(part: PartComparison, stages: Sequence[Quantity]) -> list[Level]:
    names = {stage.name for stage in stages}
    return [level for level in part.levels if names and level.timelines and names <= set(level.timelines[0].series)]


def _draw_stages(axes: Any, timeline: Timeline, stages: Sequence[Quantity]) -> None:
    heights = [[value or 0.0 for value in timeline.series[stage.name]] for stage in stages]
    colours = [stage_colour(at) for at in range(len(stages))]
    axes.stackplot(_seconds(timeline), heights, colors=colours, labels=[stage.words for stage in stages])


def _draw_rates(axes: Any, timeline: Timeline) -> None:
    rates = {name: values for name, values in timeline.series.items() if quantity_named(name).unit == _RATE}
    for at, (name, values) in enumerate({**rates, "committed_events_s": timeline.done}.items()):
        style = {"color": _COLOURS[at % len(_COLOURS)], "linestyle": _STYLES[at % len(_STYLES)]}
        label = name.removesuffix("_events_s").replace("_", " ")
        axes.plot(_seconds(timeline), values, label=label, linewidth=1.0, **style)


def _shade(axes: Any, timeline: Timeline) -> None:
    if timeline.what:
        axes.axvspan(timeline.began_s, timeline.ended_s, color=_GREY, alpha=0.2, linewidth=0, zorder=0)


def _seconds(timeline: Timeline) -> np.ndarray:
    return np.arange(len(timeline.done)) + 0.5


def _mean_over(series: Sequence[Sequence[float | None]]) -> np.ndarray:
    """Returns the mean in each second of those that have a value in it; NaN where none has."""
    values = np.array(series, dtype=float)
    known = ~np.isnan(values)
    counts = known.sum(axis=0)
    return np.where(counts, np.where(known, values, 0.0).sum(axis=0) / np.maximum(counts, 1), np.nan)
