"""The answer of a comparison on one screen: the effects of its factors, largest first, and what limited it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from kafka_pareto.analysis.wording import counted
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.comparison.records import PartComparison
from kafka_pareto.comparison.screen import MOST_LINES, WIDTH, blocks_text, effect_text, listed, screen_table
from kafka_pareto.comparison.sentences import Effect, effects_of
from kafka_pareto.comparison.words import fixed_text, pairs_text, resource_name
from kafka_pareto.study.compare import Compare
from kafka_pareto.study.declarations import driver_answer
from kafka_pareto.study.parts import VARIANT
from kafka_pareto.study.quantity import Quantity


def answer_lines(
    study: Compare, parts: Sequence[PartComparison], repetitions: Mapping[str, Sequence[Repetition]]
) -> list[str]:
    """Return the answer to the question of the study's driver, in at most 80 columns.

    `repetitions` has the accepted ones by part. A driver with a module `answer` words its own.
    """
    own = driver_answer(study.declaration.name)
    lines: list[str] = own(study, parts, repetitions) if own else effect_lines(parts)
    return lines


def effect_lines(parts: Sequence[PartComparison], most: int = MOST_LINES) -> list[str]:
    """Return the largest significant effect of each part on each quantity, and what limited the reference.

    Args:
        parts: The parts of the comparison.
        most: The number of lines; at least 4.
    """
    largest = [effect for part in parts for effect in _largest(part)]
    largest.sort(key=lambda effect: -abs(effect.change))
    without = [part.part for part in parts if not any(effect.part is part for effect in largest)]
    closing = [*([listed(f"No significant effect ({blocks_text(parts)}): ", without)] if without else [])]
    closing += limit_lines(parts)
    if not largest:
        return closing
    room = most - 1 - len(closing)
    shown = largest if len(largest) <= room else largest[: room - 1]
    more = len(largest) - len(shown)
    return [*_effect_table(shown), *([f"… and {more} smaller"] if more else []), *closing]


def limit_lines(parts: Sequence[PartComparison]) -> list[str]:
    """Return what limited the reference, in how many parts; nothing where that was not examined."""
    found = Counter(part.reference_level.bottleneck for part in parts if part.reference_level.bottleneck is not None)
    if not found:
        return []
    limits = [(resource_name(code) if code else "none found", number) for code, number in found.most_common()]
    if len(limits) == 1:
        return [f"Reference limited by: {limits[0][0]}"]
    (first, parts_of_it), *others = limits
    named = [f"{first} ({counted(parts_of_it, 'part')})", *(f"{name} ({number})" for name, number in others)]
    return [listed("Reference limited by: ", named)]


def _largest(part: PartComparison) -> list[Effect]:
    """Return the part's largest effect on each quantity that has a better direction."""
    by_quantity: dict[str, Effect] = {}
    for effect in effects_of(part):
        known = by_quantity.get(effect.quantity.name)
        if effect.quantity.maximised is not None and (known is None or abs(effect.change) > abs(known.change)):
            by_quantity[effect.quantity.name] = effect
    return list(by_quantity.values())


def _effect_table(effects: Sequence[Effect]) -> list[str]:
    """Return a row for each effect; a change that does not fit is shown without the values it replaces."""
    rows = [
        (_quantity_text(effect.quantity), effect_text(effect.ratio, is_better=effect.improvement > 0))
        for effect in effects
    ]
    header = ("quantity", "effect [95 % interval]")
    room = WIDTH - sum(max(len(row[at]) for row in (header, *rows)) + 2 for at in (0, 1))
    changes = [_change(effect, room) for effect in effects]
    return screen_table([("change", *header), *((change, *row) for change, row in zip(changes, rows, strict=True))])


def _quantity_text(quantity: Quantity) -> str:
    """Return the label; of a throughput the unit, because records/s fall with the record size while MiB/s rise."""
    return quantity.unit if quantity.words == "throughput" else quantity.words


def _change(effect: Effect, room: int) -> str:
    """Return a level's settings and those they replace, as `acks 1 → all`."""
    ours, theirs = effect.level.values, effect.part.reference_of(effect.level).values
    names = [name for name, value in ours.items() if value != theirs.get(name)]
    kept = {name: value for name, value in ours.items() if name not in names}
    where = f"{f' at {pairs_text(kept)}' if kept and effect.part.kind == 'series' else ''}{fixed_text(effect.part)}"
    whole = ", ".join(f"{_prefix(name)}{theirs.get(name)} → {ours[name]}" for name in names) + where
    return whole if len(whole) <= room else ", ".join(f"{_prefix(name)}{ours[name]}" for name in names) + where


def _prefix(name: str) -> str:
    return "" if name == VARIANT else f"{name} "
