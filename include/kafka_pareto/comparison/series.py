"""Compare the levels of a series over ranges of its second factor, and find crossovers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from kafka_pareto.analysis.crossover import Points, all_pairs, crossing_of, crossing_of_ratios, pooled_ratio
from kafka_pareto.analysis.paired_tests import holm
from kafka_pareto.comparison.measured import Measured, interval_of, known
from kafka_pareto.comparison.records import Crossover, Interval, Level, RangeRatio, is_significant
from kafka_pareto.study.factors import FactorValue
from kafka_pareto.study.quantity import Quantity

_SEED = 17  # of the bootstrap, for reproducible reports


def compare_ranges(
    measured: Measured, ranges: Mapping[str, tuple[float, float]], compared: Sequence[str]
) -> list[RangeRatio]:
    """Compare each pair of levels over each range in every compared quantity; all tests are adjusted together."""
    found = []
    for (name, (low, high)), quantity in product(ranges.items(), compared):
        for level, other in all_pairs(_levels(measured)):
            points = {at: pair for at, pair in _points(measured, quantity, level, other).items() if low <= at <= high}
            found.append((name, quantity, level, other, pooled_ratio(points)))
    adjusted = holm([ratio.p_value for *_, ratio in found])
    return [
        RangeRatio(range=name, quantity=quantity, level=level, other=other, ratio=interval, p_value_holm=known(p_value))
        for (name, quantity, level, other, ratio), p_value in zip(found, adjusted, strict=True)
        if (interval := interval_of(ratio))
    ]


def crossovers_of(
    measured: Measured,
    levels: Sequence[Level],
    ranges: Sequence[str],
    ratios: Sequence[RangeRatio],
    compared: Sequence[Quantity],
) -> list[Crossover]:
    """Find where each pair of levels crosses in each compared quantity; empty without two ranges.

    A crossover needs a significant difference one way over the first range and the other way over the last. The study
    names the ranges before anything is measured.
    """
    if len(ranges) < 2:
        return []
    significant = {
        (each.range, each.quantity, each.level, each.other): each.ratio.value for each in ratios if is_significant(each)
    }
    found = []
    for quantity, (level, other) in product(compared, all_pairs(_levels(measured))):
        first, last = (significant.get((name, quantity.name, level, other), 1.0) for name in (ranges[0], ranges[-1]))
        published = _published_ratios(measured, levels, quantity.name, level, other)
        is_rising = first < 1 < last
        at = None
        if is_rising or last < 1 < first:
            rng = np.random.default_rng(_SEED)
            crossing = crossing_of(_points(measured, quantity.name, level, other), is_rising=is_rising, rng=rng)
            if crossing is not None:
                at = Interval(value=crossing.at, low=known(crossing.low), high=known(crossing.high))
        rises_as_published = bool(published) and published[min(published)] < 1
        found.append(
            Crossover(
                quantity=quantity.name,
                level=level,
                other=other,
                at=at,
                is_better_before=None if at is None else is_rising != bool(quantity.maximised),
                published_at=crossing_of_ratios(published, is_rising=rises_as_published),
            )
        )
    return found


def _levels(measured: Measured) -> list[FactorValue]:
    return list(dict.fromkeys(each.configuration[measured.factors[0]] for each in measured.planned))


def _points(measured: Measured, quantity: str, level: FactorValue, other: FactorValue) -> Points:
    """Return both levels' values by block, at each point of the second factor."""
    factor = measured.factors[0]
    found = {}
    for group in measured.groups():
        by_level = {each.configuration[factor]: measured.numbers(each, quantity) for each in group}
        found[float(group[0].configuration[measured.along])] = (by_level[level], by_level[other])
    return found


def _published_ratios(
    measured: Measured, levels: Sequence[Level], quantity: str, level: FactorValue, other: FactorValue
) -> dict[float, float]:
    """Return the published ratio at each point of the second factor that has both numbers above zero."""
    factor = measured.factors[0]
    by_point: dict[float, dict[FactorValue, float]] = {}
    for each in levels:
        if each.published.get(quantity, 0.0) > 0:
            by_point.setdefault(float(each.values[measured.along]), {})[each.values[factor]] = each.published[quantity]
    return {
        at: known_there[level] / known_there[other]
        for at, known_there in by_point.items()
        if {level, other} <= known_there.keys()
    }
