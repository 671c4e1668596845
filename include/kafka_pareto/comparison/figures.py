"""Draw a comparison's figures as PNG: levels relative to the reference, grids, scaling, and curves with their bands.

Kinds of points differ in shape and fill as well as color (Okabe-Ito palette).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator
from matplotlib.transforms import ScaledTranslation

from kafka_pareto.analysis.wording import joined
from kafka_pareto.comparison.chart_axes import PLAIN, name_levels, name_values, side_by_side
from kafka_pareto.comparison.chart_data import Point, heat_of, is_curve, is_number, points_of, speedup_of
from kafka_pareto.comparison.records import Interval, Level, PartComparison, Scaling
from kafka_pareto.comparison.rows import significant_interactions
from kafka_pareto.comparison.time_figures import draw_over_time
from kafka_pareto.comparison.words import compared_quantities, directed_text, number_text, quantity_named, times_text
from kafka_pareto.report.figures import STYLE, png, say, shared_legend
from kafka_pareto.study.declaration import OverTime
from kafka_pareto.study.quantity import Quantity

_BLUE, _ORANGE, _GREEN, _GREY = "#0072B2", "#D55E00", "#009E73", "#8a8a8a"
_SERIES_COLOURS = ("black", _BLUE, _ORANGE, _GREEN, "#CC79A7", "#E69F00")
_SERIES_MARKERS = ("o", "s", "^", "D", "v", "P")
_WORSE_TO_BETTER = LinearSegmentedColormap.from_list("worse to better", ["#D55E00", "#fbf7f2", "#0072B2"])
_INTERVAL: dict[str, Any] = {"fmt": "none", "elinewidth": 1.4, "capsize": 3, "zorder": 2}
_SIGNIFICANT: dict[str, Any] = {
    "marker": "o",
    "s": 42,
    "color": _BLUE,
    "zorder": 3,
    "label": "differs significantly from the reference",
}
_NOT_SIGNIFICANT: dict[str, Any] = {
    "marker": "s",
    "s": 34,
    "color": _GREY,
    "zorder": 3,
    "label": "no significant difference",
}
_REFERENCE: dict[str, Any] = {"marker": "*", "s": 150, "color": "black", "zorder": 4, "label": "reference"}
_PUBLISHED: dict[str, Any] = {
    "marker": "D", "s": 46, "facecolors": "none", "edgecolors": _ORANGE, "linewidths": 1.5, "zorder": 4,
    "label": "published, on another machine",
}  # fmt: skip
_UNSAID = OverTime()
_PUBLISHED_BESIDE_INCHES = 0.11  # keeps hollow markers off the measured ones


def part_figures(
    part: PartComparison, stages: Sequence[Quantity] = (), over_time: OverTime = _UNSAID
) -> Mapping[str, tuple[str, bytes]]:
    """Return the part's figures: file name to caption and PNG; a figure without values is left out.

    Args:
        part: The part.
        stages: Quantities that add up to a whole, in order of time.
        over_time: How the driver labels its timelines.
    """
    quantities = [
        each for each in compared_quantities(part) if any(level.estimate(each.name).mean for level in part.levels)
    ]
    if not quantities:
        return {}
    found: dict[str, tuple[str, Figure]] = {}
    with mpl.rc_context(STYLE):
        kind = "curve" if is_curve(part) else "levels" if part.kind == "table" else part.kind
        draw = {"grid": draw_grid, "series": draw_series, "curve": draw_curve, "levels": draw_levels}[kind]
        if len(part.levels) > 1:
            found[kind] = (_caption(part, kind), draw(part, quantities))
        if any(each.speedup for each in part.scaling):
            found["scaling"] = (_SCALING_CAPTION, draw_scaling(part))
        found |= draw_over_time(part, stages, over_time)
        return {f"{part.part}_{name}.png": (caption, png(figure)) for name, (caption, figure) in found.items()}


def draw_levels(part: PartComparison, quantities: Sequence[Quantity]) -> Figure:
    """Draw the ratio to the reference over the levels, one pair of axes for each quantity."""
    figure, all_axes = side_by_side(len(quantities))
    for axes, quantity in zip(all_axes, quantities, strict=True):
        points = points_of(part, quantity)
        axes.axhline(1, color="black", linewidth=0.8, zorder=1)
        _draw_ratios(axes, points)
        if all(map(is_number, (value for level in part.levels for value in level.values.values()))):
            _join(axes, points)
        published = [(point.place, point.published_ratio) for point in points if point.published_ratio is not None]
        if len(published) > 1:
            beside = ScaledTranslation(_PUBLISHED_BESIDE_INCHES, 0, figure.dpi_scale_trans)
            axes.scatter(*zip(*published, strict=True), transform=axes.transData + beside, **_PUBLISHED)
        name_levels(axes, part, points)
        ratios = _positive_ends([point.ratio for point in points if point.ratio])
        name_values(axes, [1.0, *ratios, *(point.published_ratio for point in points if point.published_ratio)])
        mean = next((point.mean for point in points if point.is_reference), None)
        axes.set(
            title=directed_text(quantity),
            ylabel="ratio to reference" + (f" (1 = {number_text(mean.value)} {quantity.unit})" if mean else ""),
        )
    shared_legend(figure)
    return figure


def draw_curve(part: PartComparison, quantities: Sequence[Quantity]) -> Figure:
    """Draw the means over an ordered factor on logarithmic axes, and shade the bands where a latency jumps."""
    figure, all_axes = side_by_side(len(quantities), width=5.4)
    for axes, quantity in zip(all_axes, quantities, strict=True):
        axes.set(title=directed_text(quantity), ylabel=quantity.heading)
        known = [(point, point.mean) for point in points_of(part, quantity) if point.mean and point.mean.value > 0]
        if not known:
            say(axes, "no value above zero")
            continue
        points, means = zip(*known, strict=True)
        places, values = [point.place for point in points], [mean.value for mean in means]
        axes.plot(places, values, color=_BLUE, linewidth=1.2, marker="o", markersize=5, zorder=3, label="mean")
        axes.errorbar(places, values, yerr=_errors(means), ecolor=_BLUE, **_INTERVAL)
        for point, mean in known:
            if point.is_reference:
                axes.scatter(point.place, mean.value, **_REFERENCE)
        _shade_bands(axes, part, quantity)
        name_levels(axes, part, points)
        name_values(axes, _positive_ends(means))
    shared_legend(figure)
    return figure


def draw_series(part: PartComparison, quantities: Sequence[Quantity]) -> Figure:
    """Draw each compared level's means along the second factor, published ones dashed, and shade the ranges."""
    compared, along = part.factors
    figure, all_axes = side_by_side(len(quantities), width=5.8, height=3.9)
    names = list(dict.fromkeys(level.values[compared] for level in part.levels))
    for axes, quantity in zip(all_axes, quantities, strict=True):
        drawn: list[float] = []
        for at, name in enumerate(names):
            levels = [level for level in part.levels if level.values[compared] == name]
            color, marker = _SERIES_COLOURS[at % len(_SERIES_COLOURS)], _SERIES_MARKERS[at % len(_SERIES_MARKERS)]
            drawn += _draw_line(axes, levels, along, quantity, {"label": str(name), "color": color, "marker": marker})
        if not drawn:
            say(axes, "no value above zero")
            continue
        for at, (low, high) in enumerate(part.ranges.values()):
            axes.axvspan(low, high, color=_GREY, alpha=0.16 if at % 2 else 0.08, linewidth=0, zorder=0)
        axes.set_xscale("log")
        points = [float(level.values[along]) for level in part.levels]
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(PLAIN)
        axes.xaxis.set_minor_locator(NullLocator())
        axes.tick_params(axis="x", rotation=40)
        axes.set(
            title=directed_text(quantity),
            xlabel=along,
            ylabel=quantity.heading,
            xlim=(0.85 * min(points), 1.18 * max(points)),
        )
        name_values(axes, drawn)
    shared_legend(figure)
    return figure


def _draw_line(
    axes: Any, levels: Sequence[Level], along: str, quantity: Quantity, style: Mapping[str, Any]
) -> list[float]:
    """Draw one compared level and return the values the y axis must cover."""
    measured = [
        (float(level.values[along]), estimate.mean)
        for level in levels
        if (estimate := level.estimate(quantity.name)).mean and estimate.mean.value > 0
    ]
    published = [
        (float(level.values[along]), level.published[quantity.name])
        for level in levels
        if level.published.get(quantity.name, 0) > 0
    ]
    if measured:
        places, means = zip(*measured, strict=True)
        values = [mean.value for mean in means]
        axes.plot(places, values, linewidth=1.2, markersize=4.5, zorder=3, **style)
        axes.errorbar(places, values, yerr=_errors(means), ecolor=style["color"], **_INTERVAL)
    if published:
        axes.plot(
            *zip(*published, strict=True), color=style["color"], linewidth=0.9, linestyle="--", alpha=0.6,
            label=f"{style['label']}, published",
        )  # fmt: skip
    return [*_positive_ends([mean for _, mean in measured]), *(value for _, value in published)]


def draw_grid(part: PartComparison, quantities: Sequence[Quantity]) -> Figure:
    """Draw the ratio to the reference as a heat map for each quantity; blue is better, orange worse."""
    down, across = part.factors
    maps = [heat_of(part, quantity) for quantity in quantities]
    sides, tops = maps[0].sides, maps[0].tops
    width = max(4.3, 0.95 * len(tops) + 1.4)
    figure, all_axes = side_by_side(len(quantities), width=width, height=0.62 * len(sides) + 1.6)
    for axes, quantity, heat in zip(all_axes, quantities, maps, strict=True):
        better = np.array(heat.better, dtype=float)
        most = max(float(np.nanmax(np.abs(better), initial=0)), 0.05)
        axes.imshow(better, cmap=_WORSE_TO_BETTER, vmin=-most, vmax=most, aspect="auto")
        for (row, column), text in np.ndenumerate(heat.texts):
            strong = abs(np.nan_to_num(better[row, column])) > 0.72 * most
            axes.text(column, row, text, ha="center", va="center", fontsize=8.5, color="white" if strong else "black")
        for row, column in heat.references:
            axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor="black", linewidth=1.6))
        axes.set_xticks(range(len(tops)), tops)
        axes.set_yticks(range(len(sides)), sides)
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        axes.set(title=directed_text(quantity), xlabel=across, ylabel=down)
    return figure


def draw_scaling(part: PartComparison) -> Figure:
    """Draw the speed-up over one client with the fitted Amdahl's law and its limit."""
    curves = [each for each in part.scaling if each.speedup]
    figure, all_axes = side_by_side(len(curves), width=5.4)
    for axes, curve in zip(all_axes, curves, strict=True):
        _draw_speedup(axes, curve)
        axes.set(title=quantity_named(curve.quantity).words, xlabel=part.factors[0], ylabel="speedup vs. one client")
    shared_legend(figure)
    return figure


def _draw_speedup(axes: Any, curve: Scaling) -> None:
    clients = [float(number) for number in curve.speedup]
    speedups = list(curve.speedup.values())
    most = max(clients)
    fine = np.linspace(min(clients), most, 200)
    top = 1.15 * max(end for each in speedups for end in each.known)
    axes.plot(fine, fine, color=_GREY, linewidth=1, linestyle=":", label="in proportion")
    if curve.serial_fraction is not None:
        law = speedup_of(fine, curve.serial_fraction.value)
        axes.plot(fine, law, color=_ORANGE, linewidth=1.4, label="Amdahl's law, fitted")
    if curve.limit is not None:
        axes.axhline(curve.limit.value, color=_GREEN, linewidth=1.2, linestyle="--", label="its limit")
        if curve.limit.low is not None and curve.limit.high is not None:
            axes.axhspan(curve.limit.low, curve.limit.high, color=_GREEN, alpha=0.12, linewidth=0)
        top = max(top, 1.05 * (curve.limit.high or curve.limit.value))
    axes.errorbar(clients, [each.value for each in speedups], yerr=_errors(speedups), ecolor=_BLUE, **_INTERVAL)
    axes.scatter(clients, [each.value for each in speedups], color=_BLUE, s=38, zorder=3, label="measured")
    axes.set_xticks(clients, [f"{number:g}" for number in clients])
    axes.set(ylim=(0, top), xlim=(0, 1.04 * most))
    axes.yaxis.set_major_locator(MaxNLocator(6))


def _draw_ratios(axes: Any, points: Sequence[Point]) -> None:
    styles = (
        (_REFERENCE, [point for point in points if point.is_reference]),
        (_SIGNIFICANT, [point for point in points if point.is_significant and not point.is_reference]),
        (_NOT_SIGNIFICANT, [point for point in points if not point.is_significant and not point.is_reference]),
    )
    for style, chosen in styles:
        drawn = [(point.place, point.ratio) for point in chosen if point.ratio and point.ratio.value > 0]
        if drawn:
            places, ratios = zip(*drawn, strict=True)
            values = [ratio.value for ratio in ratios]
            axes.errorbar(places, values, yerr=_errors(ratios), ecolor=style["color"], **_INTERVAL)
            axes.scatter(places, values, **style)
    if not any(point.ratio for point in points if not point.is_reference):
        say(axes, "no ratio:\ntoo few blocks with values")


def _errors(intervals: Sequence[Interval]) -> list[list[float]]:
    """Return the distances to both ends; 0 for an unknown one."""
    below = [each.value - min(each.known) for each in intervals]
    return [below, [max(each.known) - each.value for each in intervals]]


def _positive_ends(intervals: Sequence[Interval]) -> list[float]:
    # The interval of a mean of differences may reach below zero, which a log axis cannot show.
    return [end for each in intervals for end in each.known if end > 0]


def _join(axes: Any, points: Sequence[Point]) -> None:
    drawn = sorted((point.place, point.ratio.value) for point in points if point.ratio and point.ratio.value > 0)
    if len(drawn) > 2:
        axes.plot(*zip(*drawn, strict=True), color=_BLUE, linewidth=0.8, alpha=0.45, zorder=1)


def _shade_bands(axes: Any, part: PartComparison, quantity: Quantity) -> None:
    for band in part.bands:
        if band.quantity != quantity.name:
            continue
        low, high = float(band.lower), float(band.upper)
        axes.axvspan(low, high, color=_ORANGE, alpha=0.18, linewidth=0, zorder=0, label="band with a jump")
        style: dict[str, Any] = {"ha": "center", "va": "top", "color": _ORANGE, "weight": "bold"}
        middle = (np.sqrt(low * high), 0.97)
        axes.annotate(f"x{times_text(band.ratio.value)}", middle, xycoords=("data", "axes fraction"), **style)


_SCALING_CAPTION = (
    "Throughput of several clients relative to one, with 95 % intervals. Shaded: the interval of the limit by "
    "Amdahl's law."
)


def _caption(part: PartComparison, kind: str) -> str:
    published = any(level.published for level in part.levels)
    if kind == "grid":
        dagger = " †: the two factors interact." if significant_interactions(part) else ""
        colours = "blue is better, orange worse. *: differs significantly from the reference."
        return f"Each combination relative to the reference; {colours}{dagger}"
    if kind == "series":
        ranges = f" Shaded: the ranges {joined(list(part.ranges))}." if part.ranges else ""
        dashed = " Dashed: published, on another machine." if published else ""
        return f"Means with 95 % intervals along {part.factors[1]}, both axes logarithmic.{ranges}{dashed}"
    if kind == "curve":
        shaded = " Shaded: a jump beyond the trend of the curve." if part.bands else ""
        return f"Means with 95 % intervals over {part.factors[0]}, both axes logarithmic.{shaded}"
    hollow = " Hollow: published, relative to the published reference, on another machine." if published else ""
    return f"Ratio of each level to the reference, from blocks that measured both, with 95 % intervals.{hollow}"
