"""Summarize a comparison in up to three sentences: largest gains, no-difference settings, cost.

Another compares published ratios. Only significant differences from the reference count.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from kafka_pareto.analysis.wording import counted, joined
from kafka_pareto.comparison.records import Interval, Level, PartComparison, is_significant
from kafka_pareto.comparison.screen import blocks_text
from kafka_pareto.comparison.words import (
    compared_quantities,
    factors_text,
    fixed_text,
    level_text,
    number_text,
    of_measured_text,
    published_ratio,
    resource_text,
    setting_text,
    times_text,
)
from kafka_pareto.study.quantity import Quantity

_MOST_LEVELS_NAMED = 4


@dataclass(frozen=True)
class Effect:
    """A significant effect of one level on one quantity."""

    part: PartComparison
    level: Level
    quantity: Quantity
    ratio: Interval

    @property
    def improvement(self) -> float:
        """Return the log ratio toward better; negative if worse, 0 without a direction."""
        if self.quantity.maximised is None:
            return 0.0
        return self.change if self.quantity.maximised else -self.change

    @property
    def change(self) -> float:
        """Return the log ratio to the reference."""
        return math.log(self.ratio.value)

    @property
    def setting(self) -> str:
        """Name the level and its part's fixed settings."""
        return f"{setting_text(self.level.values)}{fixed_text(self.part)}"

    def __str__(self) -> str:
        """Return the setting, what it replaces, and the ratio with its interval."""
        ours, theirs = self.level.values, self.part.reference
        if self.part.kind == "series":
            theirs = self.part.reference_of(self.level).values
        changed = {name: value for name, value in ours.items() if value != theirs.get(name)}
        kept = {name: value for name, value in ours.items() if name not in changed}
        replaced = " with ".join(str(theirs[name]) for name in changed)
        at = f" at {setting_text(kept)}" if kept else ""
        changes = f"{setting_text(changed)} instead of {replaced}{at}{fixed_text(self.part)}"
        return f"{changes}, {_times(self.ratio, '95 % interval ')}"


def closing_sentences(parts: Sequence[PartComparison]) -> list[str]:
    """Return up to three sentences on all parts, and another if published ratios are comparable."""
    if all(len(part.levels) == 1 for part in parts):
        return [f"Each part has a single level, so there is no comparison ({blocks_text(parts)})."]
    effects = [effect for part in parts for effect in effects_of(part)]
    sentences = [_largest_gains(parts, effects), _no_difference(parts, effects), _costs(parts, effects)]
    return [sentence for sentence in sentences if sentence] + _published_differences(parts)


def effects_of(part: PartComparison) -> list[Effect]:
    """Return every significant difference from the reference, by level and compared quantity."""
    found = []
    for level in part.levels:
        for quantity in compared_quantities(part):
            estimate = level.estimate(quantity.name)
            if estimate.ratio and estimate.ratio.value > 0 and is_significant(estimate):
                found.append(Effect(part, level, quantity, estimate.ratio))
    return found


def _largest_gains(parts: Sequence[PartComparison], effects: Sequence[Effect]) -> str:
    names = {quantity.name: quantity for part in parts for quantity in compared_quantities(part)}
    clauses = [
        _of_quantity(quantity, [effect for effect in effects if effect.quantity.name == quantity.name])
        for quantity in names.values()
    ]
    significant = [clause for clause in clauses if clause]
    if not significant:
        return f"No significant difference from the reference in any compared quantity ({blocks_text(parts)})."
    others = [quantity.words for quantity, clause in zip(names.values(), clauses, strict=True) if not clause]
    without = [f"no significant difference in {joined(others, 'or')} ({blocks_text(parts)})"] if others else []
    return f"{_capitalised('; '.join([*significant, *without]))}."


def _of_quantity(quantity: Quantity, effects: Sequence[Effect]) -> str:
    """Return the clause on one quantity; empty without a significant level."""
    if not effects:
        return ""
    if quantity.maximised is None:
        return f"largest change in {quantity.words}: {max(effects, key=lambda effect: abs(effect.change))}"
    best = max(effects, key=lambda effect: effect.improvement)
    if best.improvement > 0:
        return f"largest improvement in {quantity.words}: {best}"
    worst = min(effects, key=lambda effect: effect.improvement)
    return f"no level improved {quantity.words}; largest loss: {worst}"


def _no_difference(parts: Sequence[PartComparison], effects: Sequence[Effect]) -> str:
    """Name the levels without a difference; empty if the sentence on gains already covers them all."""
    same = [text for part in parts if (text := _same_levels(part))]
    untested = sum(not _is_tested(part, level) for part in parts for level in part.levels if not level.is_reference)
    not_tested = f"{counted(untested, 'level')} could not be tested." if untested else ""
    if same and not effects:
        return not_tested
    if same:
        return f"No significant difference ({blocks_text(parts)}): {'; '.join(same)}. {not_tested}".rstrip()
    if not any(_is_tested(part, level) for part in parts for level in part.levels):
        return "No level could be tested against the reference."
    return f"Every tested level differs from the reference in at least one compared quantity. {not_tested}".rstrip()


def _same_levels(part: PartComparison) -> str:
    """Name the levels without a significant difference, or their number if many."""
    tested = [level for level in part.levels if _is_tested(part, level)]
    same = [level for level in tested if not any(is_significant(level.estimate(name)) for name in part.compared)]
    if not same:
        return ""
    factors = factors_text(part)
    if len(same) > _MOST_LEVELS_NAMED:
        return f"{len(same)} of {counted(len(tested), 'level')} of {factors}{fixed_text(part)}"
    return f"{factors} {joined(map(level_text, same))}{fixed_text(part)}"


def _is_tested(part: PartComparison, level: Level) -> bool:
    return any(level.estimate(name).p_value_holm is not None for name in part.compared)


def _costs(parts: Sequence[PartComparison], effects: Sequence[Effect]) -> str:
    clauses = [_dearest_trade(effects), _what_limited(parts)]
    return f"{_capitalised('; '.join(clause for clause in clauses if clause))}."


def _dearest_trade(effects: Sequence[Effect]) -> str:
    """State the cost of the largest gain that has one, or that none has; empty without a gain."""
    gains = sorted((effect for effect in effects if effect.improvement > 0), key=lambda effect: -effect.improvement)
    for gain in gains:
        losses = [each for each in effects if each.level is gain.level and each.improvement < 0]
        if losses:
            loss = min(losses, key=lambda effect: effect.improvement)
            return (
                f"largest trade-off: {gain.setting} has {_times(gain.ratio)} the {gain.quantity.words}, but "
                f"{_times(loss.ratio)} the {loss.quantity.words}{_absolute(loss)}"
            )
    return "no gain came with a significant loss in another compared quantity" if gains else ""


def _absolute(effect: Effect) -> str:
    """Return the two means behind a ratio, in brackets."""
    means = [
        f"{number_text(estimate.mean.value)}{of_measured_text(level, estimate)}"
        for level in (effect.level, effect.part.reference_of(effect.level))
        if (estimate := level.estimate(effect.quantity.name)).mean
    ]
    return f": {' instead of '.join(means)} {effect.quantity.unit}".rstrip() if len(means) == 2 else ""


def _what_limited(parts: Sequence[PartComparison]) -> str:
    """Name the reference's bottleneck in most parts."""
    if all(part.reference_level.bottleneck is None for part in parts):
        return "the reference's bottleneck was not examined"
    found = Counter(part.reference_level.bottleneck for part in parts if part.reference_level.bottleneck)
    if not found:
        return "no bottleneck was found at the reference"
    (code, number), *_ = found.most_common()
    where = "" if number == len(parts) else f" in {number} of {counted(len(parts), 'part')}"
    return f"the reference was limited by {resource_text(code)}{where}"


def _published_differences(parts: Sequence[PartComparison]) -> list[str]:
    """Count the published ratios outside the intervals measured here, and name the farthest."""
    compared = 0
    outside: dict[str, float] = {}
    for part in parts:
        for level in part.levels:
            for quantity in compared_quantities(part):
                published = published_ratio(part, level, quantity.name)
                here = level.estimate(quantity.name).ratio
                if published is None or here is None or here.low is None or here.high is None:
                    continue
                compared += 1
                if not here.low <= published <= here.high:
                    here_and_there = f"{_times(here)} here, {times_text(published)}x published"
                    text = f"{quantity.words} with {setting_text(level.values)}{fixed_text(part)}, {here_and_there}"
                    outside[text] = abs(math.log(published / here.value))
    if not compared:
        return []
    farthest = sorted(outside, key=lambda text: -outside[text])[:_MOST_LEVELS_NAMED]
    the_farthest = ", the farthest" if len(outside) > len(farthest) else ""
    named = f"{the_farthest}: {'; '.join(farthest)}" if farthest else ""
    return [
        f"Outside the 95 % intervals measured here: {len(outside)} of {counted(compared, 'published ratio')} to the "
        f"reference{named}."
    ]


def _times(ratio: Interval, named: str = "") -> str:
    if ratio.low is None or ratio.high is None:
        return f"{times_text(ratio.value)}x"
    return f"{times_text(ratio.value)}x ({named}{times_text(ratio.low)} to {times_text(ratio.high)})"


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
