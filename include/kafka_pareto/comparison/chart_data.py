"""Compute what a comparison's charts draw: positions on an axis, and ratios to the reference.

A ratio to the reference is comparable across machines, so published values can appear beside measured ones.
"""

from __future__ import annotations

import math
import re
from typing import Literal

from pydantic import BaseModel

from kafka_pareto.comparison.records import Interval, PartComparison, is_significant
from kafka_pareto.comparison.rows import significant_interactions
from kafka_pareto.comparison.words import level_text, published_ratio, times_text
from kafka_pareto.study.configuration_words import bytes_text
from kafka_pareto.study.factors import FactorValue, Positions
from kafka_pareto.study.quantity import Quantity

AxisKind = Literal["log2", "log10", "names"]

_FEWEST_OF_A_CURVE = 6
_LEAST_DISTANCE_OF_NAMES = 0.05  # fraction of the axis
_BYTES = re.compile(r"(size|bytes|memory)$")
_NO_BYTES = re.compile(r"queue|pool")


class Point(BaseModel):
    """One quantity at one level of a chart.

    Attributes:
        place: Position on the axis: the level's value, or its index on an axis of names.
        ratio: Level over reference; 1 without an interval at the reference.
        mean: In the quantity's unit.
        is_significant: Whether the level differs significantly from the reference.
        published_ratio: Published value over published reference.
    """

    level: str
    place: float
    is_reference: bool
    ratio: Interval | None
    mean: Interval | None
    is_significant: bool
    published_ratio: float | None


class Heat(BaseModel):
    """One quantity of a grid or a series as a heat map.

    Attributes:
        down: The factor of the rows: a grid's first, a series' second.
        across: The factor of the columns.
        sides: Row labels.
        tops: Column labels.
        better: Log ratio, positive if better than the reference (if larger, without a direction); None without a ratio.
        texts: The ratio; * marks a significant difference from 1, † an interaction.
        references: Row and column of each reference.
    """

    down: str
    across: str
    sides: list[str]
    tops: list[str]
    better: list[list[float | None]]
    texts: list[list[str]]
    references: list[tuple[int, int]]


def points_of(part: PartComparison, quantity: Quantity) -> list[Point]:
    """Return the points of one quantity over a table's levels, in the study's order."""
    has_names, points = axis_kind(part) == "names", []
    for at, level in enumerate(part.levels):
        estimate = level.estimate(quantity.name)
        points.append(
            Point(
                level=level_text(level),
                place=at if has_names else float(next(iter(level.values.values()))),
                is_reference=level.is_reference,
                ratio=Interval(value=1.0) if level.is_reference else estimate.ratio,
                mean=estimate.mean,
                is_significant=is_significant(estimate),
                published_ratio=published_ratio(part, level, quantity.name),
            )
        )
    return points


def heat_of(part: PartComparison, quantity: Quantity) -> Heat:
    """Return one quantity of a grid or a series as a heat map."""
    down, across = part.factors if part.kind == "grid" else reversed(part.factors)
    tops = list(dict.fromkeys(level.values[across] for level in part.levels))
    sides = list(dict.fromkeys(level.values[down] for level in part.levels))
    better: list[list[float | None]] = [[None] * len(tops) for _ in sides]
    texts = [["none"] * len(tops) for _ in sides]
    interacting = [each.values for each in significant_interactions(part) if each.quantity == quantity.name]
    references = []
    for level in part.levels:
        row, column = sides.index(level.values[down]), tops.index(level.values[across])
        estimate = level.estimate(quantity.name)
        if level.is_reference:
            references.append((row, column))
            better[row][column], texts[row][column] = 0.0, "1\nreference"
        elif estimate.ratio and estimate.ratio.value > 0:
            more = math.log(estimate.ratio.value)
            better[row][column] = -more if quantity.maximised is False else more
            marks = ("*" if is_significant(estimate) else "") + ("†" if level.values in interacting else "")
            texts[row][column] = times_text(estimate.ratio.value) + marks
    return Heat(
        down=down,
        across=across,
        sides=[tick_text(down, side) for side in sides],
        tops=[tick_text(across, top) for top in tops],
        better=better,
        texts=texts,
        references=references,
    )


def axis_kind(part: PartComparison) -> AxisKind:
    """Return the axis scale: logarithmic if all levels but one are powers of two or ten."""
    values = [value for level in part.levels for value in level.values.values()]
    if len(part.factors) > 1 or not all(is_number(value) and float(value) > 0 for value in values):
        return "names"
    powers: tuple[tuple[AxisKind, float], ...] = (("log2", 2.0), ("log10", 10.0))
    for kind, base in powers:
        others = [value for value in values if not _is_power(float(value), base)]
        if len(values) > 2 and len(others) <= (1 if len(values) > 3 else 0):
            return kind
    return "names"


def is_curve(part: PartComparison) -> bool:
    """Return whether the levels are numeric and numerous enough for a curve, like record sizes."""
    return part.kind == "table" and axis_kind(part) != "names" and len(part.levels) >= _FEWEST_OF_A_CURVE


def tick_text(factor: str, value: FactorValue) -> str:
    """Format a level as a tick: in KiB or MiB for a factor in bytes."""
    if is_number(value) and _BYTES.search(factor) and not _NO_BYTES.search(factor):
        return bytes_text(value)
    return str(value)


def tick_texts(part: PartComparison) -> list[str]:
    """Return the ticks of a table's levels; a label that would overlap the one before is empty."""
    factor, kind = part.factors[0], axis_kind(part)
    values = [level.values[factor] for level in part.levels]
    places = [at if kind == "names" else math.log(float(value)) for at, value in enumerate(values)]
    needed = _LEAST_DISTANCE_OF_NAMES * (max(places) - min(places))
    named: list[float] = []
    texts = []
    for place, value in zip(places, values, strict=True):
        has_room = all(abs(place - other) >= needed for other in named)
        named += [place] if has_room else []
        texts.append(tick_text(factor, value) if has_room else "")
    return texts


def speedup_of(clients: Positions, serial_fraction: float) -> Positions:
    """Return the speed-up over one client by Amdahl's law (G. Amdahl, AFIPS 1967): n / (1 + s (n - 1))."""
    return clients / (1 + serial_fraction * (clients - 1))


def is_number(value: FactorValue) -> bool:
    """Return whether a level is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_power(value: float, base: float) -> bool:
    exponent = math.log(value, base)
    return abs(exponent - round(exponent)) < 1e-9
