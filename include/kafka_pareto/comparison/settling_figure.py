"""Draws how a pace settles: what the first rows of a new process get, and what those after its warm-up get."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from kafka_pareto.campaign.records import Timeline
from kafka_pareto.comparison.records import PartComparison
from kafka_pareto.comparison.words import level_text

CAPTION = "Rows per second over time: the median of the repetitions. A pace that still rises has not settled."
_PASSES = {"cold_rows_s": "first rows of a new process", "rows_s": "after the warm-up"}


def draw_settling(part: PartComparison) -> Figure | None:
    """Draws a line for each level over the time since its first row; None without paces by slice."""
    levels = [level for level in part.levels if any("rows_s" in each.series for each in level.timelines)]
    if not levels:
        return None
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    both: Any = figure.subplots(1, 2, sharey=True)
    for axes, (name, title) in zip(both, _PASSES.items(), strict=True):
        for level in levels:
            seconds, paces = pace_over_time(level.timelines, name)
            axes.plot(seconds, paces, label=level_text(level), linewidth=1.2)
        axes.set(title=title, xlabel="seconds since the first row", ylim=(0, None))
    both[0].set_ylabel("rows/s")
    both[1].legend(fontsize="small")
    return figure


def pace_over_time(timelines: list[Timeline], name: str) -> tuple[list[float], list[float]]:
    """Returns the middles of the slices and the median pace in each, of those timelines that last so long."""
    known = [each for each in timelines if each.series.get(name)]
    slices = zip_longest(*(each.series[name] for each in known))
    paces = [float(np.median([pace for pace in of_slice if pace is not None])) for of_slice in slices]
    return [(at + 0.5) * known[0].slice_s for at in range(len(paces))], paces
