"""The answer of a comparison on one screen: the effects of its factors, largest first, and what limited it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from kafka_pareto.analysis.plain_table import table_lines
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.comparison.records import PartComparison
from kafka_pareto.comparison.sentences import Effect, effects_of
from kafka_pareto.comparison.words import resource_text, times_text
from kafka_pareto.study.compare import Compare
from kafka_pareto.study.declarations import driver_answer

WIDTH = 80
MOST_LINES = 14
"""Longest table: the answer, the addresses and the next steps then fit a screen of 24 lines."""


def answer_lines(
    study: Compare, parts: Sequence[PartComparison], repetitions: Mapping[str, Sequence[Repetition]]
) -> list[str]:
    """Return the answer to the question of the study's driver, in at most 80 columns.

    `repetitions` has the accepted ones by part. A driver with a module `answer` words its own.
    """
    own = driver_answer(study.declaration.name)
    lines: list[str] = own(study, parts, repetitions) if own else effect_lines(parts)
    return lines


def effect_lines(parts: Sequence[PartComparison]) -> list[str]:
    """Return the largest significant effect of each part on each quantity, and what limited the reference."""
    largest = [effect for part in parts for effect in _largest(part)]
    largest.sort(key=lambda effect: -abs(effect.change))
    shown = largest[:MOST_LINES]
    header = ("level", "instead of", "quantity", "times", "95 % interval")
    rows = [header, *map(_row, shown)]
    more = len(largest) - len(shown)
    without = [part.part for part in parts if not any(effect.part is part for effect in largest)]
    return [
        *(table_lines(rows, "left") if shown else ["No level differs significantly from the reference."]),
        *([f"… and {more} smaller ones"] if more else []),
        *([f"No significant effect: {', '.join(without)}"] if without and shown else []),
        *limit_lines(parts),
    ]


def limit_lines(parts: Sequence[PartComparison]) -> list[str]:
    """Return what limited the reference, in how many parts; nothing where that was not examined."""
    found = Counter(part.reference_level.bottleneck for part in parts if part.reference_level.bottleneck is not None)
    if not found:
        return []
    named = [f"{resource_text(code) if code else 'none found'} ({number})" for code, number in found.most_common()]
    return [f"Limited by, in parts: {', '.join(named)}"]


def _largest(part: PartComparison) -> list[Effect]:
    """Return the part's largest effect on each quantity that has a better direction."""
    by_quantity: dict[str, Effect] = {}
    for effect in effects_of(part):
        known = by_quantity.get(effect.quantity.name)
        if effect.quantity.maximised is not None and (known is None or abs(effect.change) > abs(known.change)):
            by_quantity[effect.quantity.name] = effect
    return list(by_quantity.values())


def _row(effect: Effect) -> tuple[str, ...]:
    low, high = effect.ratio.low, effect.ratio.high
    interval = "-" if low is None or high is None else f"{times_text(low)} to {times_text(high)}"
    sign = "better" if effect.improvement > 0 else "worse"
    changed = _changed(effect)
    was = " ".join(str(effect.part.reference_of(effect.level).values[name]) for name in changed)
    now = " ".join(f"{name} {effect.level.values[name]}" for name in changed)
    return (now, was, effect.quantity.words, f"{times_text(math.exp(effect.change))} {sign}", interval)


def _changed(effect: Effect) -> list[str]:
    theirs = effect.part.reference_of(effect.level).values
    return [name for name, value in effect.level.values.items() if value != theirs.get(name)]
