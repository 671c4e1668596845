"""Draws what was seen second by second while something was broken: what came to its end, and how long it took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from kafka_pareto.comparison.chart_axes import name_values
from kafka_pareto.comparison.records import Level, PartComparison
from kafka_pareto.comparison.words import level_text

CAPTION = (
    "A line for each repetition. Shaded: while the first one's fault lasted. Where the latency has a gap, nothing was "
    "confirmed."
)
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "black")
_GREY = "#8a8a8a"
_COLUMN_INCHES, _HEIGHT_INCHES = 3.1, 4.2


def draw_timelines(part: PartComparison) -> Figure | None:
    """Draws a column for each level in which something was broken; None where nothing was."""
    levels = [level for level in part.levels if level.timelines and level.timelines[0].done]
    if not levels:
        return None
    figure = Figure(figsize=(max(_COLUMN_INCHES * len(levels), 6.0), _HEIGHT_INCHES), layout="constrained")
    rows: Any = figure.subplots(2, len(levels), squeeze=False, sharex=True, sharey="row")
    for column, level in enumerate(levels):
        _draw_level(rows[0][column], rows[1][column], level)
    latencies = [value for level in levels for each in level.timelines for value in each.latency_p95_ms if value]
    if latencies:
        name_values(rows[1][0], latencies)
    rows[0][0].set(ylabel="orders confirmed each second", ylim=(0, None))
    rows[1][0].set_ylabel("their p95 latency, ms")
    return figure


def _draw_level(done: Any, latency: Any, level: Level) -> None:
    first = level.timelines[0]
    for axes in (done, latency):
        axes.axvspan(
            first.began_s, max(first.ended_s, first.began_s + 1), color=_GREY, alpha=0.2, linewidth=0, zorder=0
        )
    for at, timeline in enumerate(level.timelines):
        style = {"color": _COLOURS[at % len(_COLOURS)], "linewidth": 1.0, "alpha": 0.85}
        seconds = np.arange(len(timeline.done)) + 0.5
        done.plot(seconds, timeline.done, **style)
        latency.plot(seconds, _gaps(timeline.latency_p95_ms), marker=".", markersize=2.5, **style)
    done.set_title(level_text(level))
    latency.set_xlabel("seconds since the first order")


def _gaps(values: Sequence[float | None]) -> list[float]:
    return [float("nan") if value is None else value for value in values]
