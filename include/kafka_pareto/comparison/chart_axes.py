"""Axes of a comparison's figures."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from kafka_pareto.comparison.chart_data import Point, axis_kind, tick_texts
from kafka_pareto.comparison.records import PartComparison
from kafka_pareto.comparison.words import level_text

PLAIN = FuncFormatter(lambda value, _: f"{value:,.10g}")
_LONGEST_TICK = 12
_MOST_UPRIGHT_TICKS = 7
_MOST_UPRIGHT_CHARACTERS = 64
_WIDE, _VERY_WIDE = 6.0, 1000.0


def side_by_side(number: int, width: float = 4.6, height: float = 3.5) -> tuple[Figure, list[Any]]:
    """Return a figure with pairs of axes in rows of two; width and height are those of one pair, in inches."""
    columns = min(number, 2)
    rows = -(-number // columns)
    figure = Figure(figsize=(max(width * columns, 6.0), height * rows + 0.5), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for spare in axes[number:]:
        spare.remove()
    return figure, axes[:number]


def name_levels(axes: Any, part: PartComparison, points: Sequence[Point]) -> None:
    """Label the x axis with the levels, on a logarithmic scale if they are powers of two or ten."""
    kind = axis_kind(part)
    if kind != "names":
        axes.set_xscale("log", base=2 if kind == "log2" else 10)
        axes.xaxis.set_minor_locator(NullLocator())
    texts = dict(zip(map(level_text, part.levels), tick_texts(part), strict=True))
    widest = max(min(len(texts[point.level]), _LONGEST_TICK) for point in points)
    crowded = len(points) > _MOST_UPRIGHT_TICKS or len(points) * widest > _MOST_UPRIGHT_CHARACTERS
    names = [textwrap.fill(texts[point.level], _LONGEST_TICK, break_long_words=not crowded) for point in points]
    axes.set_xticks(
        [point.place for point in points], names, rotation=40 if crowded else 0, ha="right" if crowded else "center"
    )
    axes.set_xlabel(part.factors[0])
    axes.margins(x=0.08)


def name_values(axes: Any, values: Sequence[float]) -> None:
    """Make the y axis logarithmic with round ticks that cover the positive values."""
    axes.set_yscale("log")
    low, high = min(values), max(values)
    room = max((high / low) ** 0.08, 1.04)
    axes.set_ylim(low / room, high * room)
    steps: Any = MaxNLocator(6, steps=[1, 2, 2.5, 5, 10])
    if high / low > _WIDE:
        steps = LogLocator(subs=(1.0, 2.0, 5.0) if high / low < _VERY_WIDE else (1.0,))
    axes.yaxis.set_major_locator(steps)
    axes.yaxis.set_major_formatter(PLAIN)
    axes.yaxis.set_minor_locator(NullLocator())
