"""Draws where the time goes: for each level one bar, of the stages whose means add up to the whole."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from kafka_pareto.comparison.records import Level, PartComparison
from kafka_pareto.comparison.words import level_text, number_text
from kafka_pareto.report.figures import shared_legend
from kafka_pareto.study.quantity import Quantity

CAPTION = "The mean time in each stage; a bar is the mean of the whole."
_COLOURS = ("#0072B2", "#56B4E9", "#009E73", "#F0E442", "#E69F00", "#D55E00", "#CC79A7", "#8a8a8a")
_HATCHES = ("", "//", "", "\\\\", "", "xx", "", "..")
_BAR_INCHES, _WIDTH_INCHES = 0.5, 9.0


def draw_stages(part: PartComparison, stages: Sequence[Quantity]) -> Figure | None:
    """Draws a bar for each level that has all stages; None where no level has."""
    levels = [level for level in part.levels if all(_mean(level, stage) is not None for stage in stages)]
    if not levels or not stages:
        return None
    figure = Figure(figsize=(_WIDTH_INCHES, _BAR_INCHES * len(levels) + 1.9), layout="constrained")
    axes = figure.subplots()
    names, begins = [level_text(level) for level in levels], [0.0] * len(levels)
    for at, stage in enumerate(stages):
        widths = [_mean(level, stage) or 0.0 for level in levels]
        axes.barh(
            names,
            widths,
            left=begins,
            color=stage_colour(at),
            hatch=_HATCHES[at % len(_HATCHES)],
            edgecolor="white",
            label=stage.words,
        )
        begins = [begin + width for begin, width in zip(begins, widths, strict=True)]
    for name, end in zip(names, begins, strict=True):
        axes.annotate(f" {number_text(end)}", (end, name), va="center")
    axes.invert_yaxis()
    axes.margins(x=0.1)
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.set_xlabel(f"mean time, {stages[0].unit}")
    shared_legend(figure)
    return figure


def stage_colour(at: int) -> str:
    """Returns the colour of the stage at this place."""
    return _COLOURS[at % len(_COLOURS)]


def _mean(level: Level, stage: Quantity) -> float | None:
    estimate = level.estimates.get(stage.name)
    return estimate.mean.value if estimate and estimate.mean else None
