"""Build a series' rows of text (points, ranges, crossovers) and the sentences that name the best level."""

from __future__ import annotations

from kafka_pareto.analysis.wording import joined
from kafka_pareto.comparison.records import Crossover, Level, PartComparison, RangeRatio, is_significant
from kafka_pareto.comparison.rows import MARK, PUBLISHED, REFERENCE, Row
from kafka_pareto.comparison.words import (
    NONE,
    compared_quantities,
    mean_text,
    number_text,
    quantity_named,
    ratio_text,
    times_text,
)
from kafka_pareto.study.factors import FactorValue
from kafka_pareto.study.quantity import Quantity


def series_rows(part: PartComparison, quantity: Quantity) -> list[Row]:
    """Return points by compared levels: mean ± deviation, with the ratio in brackets.

    Published values share one column, in level order.
    """
    compared, along = part.factors
    found = {(level.values[along], level.values[compared]): level for level in part.levels}
    points = list(dict.fromkeys(level.values[along] for level in part.levels))
    levels = list(dict.fromkeys(level.values[compared] for level in part.levels))
    own = part.reference[compared]
    header = [along, *(f"{level} ({REFERENCE})" if level == own else str(level) for level in levels)]
    rows = [[number_text(float(at)), *(_series_cell(found[at, level], quantity) for level in levels)] for at in points]
    if any(quantity.name in level.published for level in part.levels):
        header.append(PUBLISHED)
        for at, row in zip(points, rows, strict=True):
            values = [found[at, level].published.get(quantity.name) for level in levels]
            row.append("; ".join(NONE if value is None else number_text(value) for value in values))
    return [tuple(header), *map(tuple, rows)]


def range_rows(part: PartComparison) -> list[Row]:
    """Return the ratio of each pair of levels over each range, with a header; empty without ranges."""
    if not part.range_ratios:
        return []
    by_key = {(each.level, each.other, each.range, each.quantity): each for each in part.range_ratios}
    pairs = list(dict.fromkeys((each.level, each.other, each.range) for each in part.range_ratios))
    rows = [
        (f"{level} over {other}, {name}", *(_range_cell(by_key.get((level, other, name, q))) for q in part.compared))
        for level, other, name in pairs
    ]
    return [("over a range", *(quantity_named(name).words for name in part.compared)), *rows]


def crossover_rows(part: PartComparison) -> list[Row]:
    """Return where one level overtakes another, with a header; empty without two ranges."""
    if not part.crossovers:
        return []
    by_key = {(each.level, each.other, each.quantity): each for each in part.crossovers}
    pairs = list(dict.fromkeys((each.level, each.other) for each in part.crossovers))
    rows = [
        (f"{level} against {other}", *(_crossover_cell(by_key.get((level, other, name))) for name in part.compared))
        for level, other in pairs
    ]
    return [(f"crossover, {part.factors[1]}", *(quantity_named(name).words for name in part.compared)), *rows]


def range_sentences(part: PartComparison) -> list[str]:
    """Name the best level for each range: the first in the study's order that no other beats significantly.

    A level without a comparison in a range is left out, and so is a quantity without any.
    """
    quantities = compared_quantities(part)
    levels = list(dict.fromkeys(level.values[part.factors[0]] for level in part.levels))
    sentences = []
    for name, (low, high) in part.ranges.items():
        where = f"{name.capitalize()} ({part.factors[1]} {number_text(low)} to {number_text(high)})"
        unbeaten = {quantity.words: _unbeaten(part, name, quantity) for quantity in quantities}
        best = {
            words: [level for level in levels if level in kept] for words, kept in unbeaten.items() if kept is not None
        }
        in_all = [level for level in levels if all(level in kept for kept in best.values())]
        if not best:
            sentences.append(f"{where}: no two levels could be compared.")
        elif in_all:
            sentences.append(f"{where}: {in_all[0]}; no level is significantly better in {joined(list(best), 'or')}.")
        else:
            each_best = "; ".join(
                f"{words}: {joined(list(map(str, kept)), 'or') or 'no level is unbeaten'}"
                for words, kept in best.items()
            )
            sentences.append(f"{where}: no level is best in every quantity. {each_best}.")
    return sentences


def _unbeaten(part: PartComparison, name: str, quantity: Quantity) -> set[FactorValue] | None:
    """Return the compared levels that no other beats significantly over a range; None without a comparison."""
    compared: set[FactorValue] = set()
    beaten: set[FactorValue] = set()
    for each in part.range_ratios:
        if (each.range, each.quantity) != (name, quantity.name) or each.p_value_holm is None:
            continue
        compared |= {each.level, each.other}
        if is_significant(each):
            is_better = (each.ratio.value > 1) == bool(quantity.maximised)
            beaten.add(each.other if is_better else each.level)
    return compared - beaten if compared else None


def _series_cell(level: Level, quantity: Quantity) -> str:
    estimate, mean = level.estimate(quantity.name), mean_text(level, quantity)
    if level.is_reference or estimate.ratio is None:
        return mean
    return f"{mean} ({times_text(estimate.ratio.value)}{MARK if is_significant(estimate) else ''})"


def _range_cell(found: RangeRatio | None) -> str:
    if found is None:
        return NONE
    return ratio_text(found.ratio, MARK if is_significant(found) else "")


def _crossover_cell(found: Crossover | None) -> str:
    if found is None:
        return NONE
    here = "none significant"
    if found.at is not None:
        low, high = (NONE if end is None else number_text(end) for end in (found.at.low, found.at.high))
        side = "better" if found.is_better_before else "worse"
        here = f"{side} up to {number_text(found.at.value)} ({low} to {high})"
    return here if found.published_at is None else f"{here}; published {number_text(found.published_at)}"
