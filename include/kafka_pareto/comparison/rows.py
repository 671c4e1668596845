"""Build the rows of text that the terminal, the page and the explorer show for a part."""

from __future__ import annotations

import re
import statistics
from typing import TypeAlias

from kafka_pareto.analysis.wording import counted, p_text
from kafka_pareto.bottleneck.words import verdict_text
from kafka_pareto.comparison.records import Interaction, Level, PartComparison, is_significant
from kafka_pareto.comparison.words import (
    NONE,
    factors_text,
    level_text,
    mean_text,
    number_text,
    of_measured_text,
    other_quantities,
    outcomes_text,
    pairs_text,
    published_ratio,
    quantity_named,
    ratio_text,
    relative_text,
    resource_name,
    setting_text,
    times_text,
)
from kafka_pareto.study.quantity import Quantity

Row: TypeAlias = tuple[str, ...]

_NUMBER = re.compile(r"\d[\d,.]*")

MARK = "*"
REFERENCE = "reference"
PUBLISHED = "published elsewhere"


def quantity_rows(part: PartComparison, quantity: Quantity) -> list[Row]:
    """Return one tested quantity for all levels, with a header; the first quantity adds each level's bottleneck.

    A published value's ratio is to the published reference, never to a value of this machine.
    """
    columns: list[tuple[str, list[str]]] = [
        (factors_text(part), [named_level(level) for level in part.levels]),
        (quantity.heading, _means(part, quantity)),
        ("ratio to reference", [_over_reference(level, quantity) for level in part.levels]),
        ("relative", [relative_text(level.estimate(quantity.name)) for level in part.levels]),
        ("letters", [level.estimate(quantity.name).letters or NONE for level in part.levels]),
    ]
    if any(quantity.name in level.published for level in part.levels):
        columns.append((PUBLISHED, [published_text(part, level, quantity.name) for level in part.levels]))
    if part.compared and quantity.name == part.compared[0] and any(level.bottleneck for level in part.levels):
        columns.append(("limited by", [resource_name(level.bottleneck or "") or NONE for level in part.levels]))
    return [tuple(name for name, _ in columns), *zip(*(cells for _, cells in columns), strict=True)]


def other_rows(part: PartComparison) -> list[Row]:
    """Return the labeled untested quantities, one row each, with a header; empty without any."""
    quantities = other_quantities(part)
    if not quantities:
        return []
    header = (factors_text(part), *map(named_level, part.levels))
    return [header, *((quantity.heading, *_means(part, quantity)) for quantity in quantities)]


def matrix_rows(part: PartComparison, quantity: Quantity) -> list[Row]:
    """Return a grid with the first factor's levels as rows and the second's as columns: mean and ratio."""
    down, across = part.factors
    found = {(level.values[down], level.values[across]): level for level in part.levels}
    tops = list(dict.fromkeys(level.values[across] for level in part.levels))
    sides = list(dict.fromkeys(level.values[down] for level in part.levels))
    header = (f"{down} \\ {across}", *map(str, tops))
    return [header, *((str(side), *(_cell(found.get((side, top)), quantity) for top in tops)) for side in sides)]


def interaction_rows(part: PartComparison) -> list[Row]:
    """Return the significant interactions with a header; empty without any."""
    held = significant_interactions(part)
    if not held:
        return []
    rows = [
        (
            quantity_named(each.quantity).words,
            setting_text(each.values),
            ratio_text(each.ratio),
            p_text(each.p_value_holm),
        )
        for each in held
    ]
    return [("quantity", "combination", "ratio to the product of both", "p (Holm)"), *rows]


def significant_interactions(part: PartComparison) -> list[Interaction]:
    """Return the interactions that differ significantly from 1 (Holm)."""
    return [each for each in part.interactions if is_significant(each)]


def interaction_sentence(part: PartComparison) -> str:
    """State whether the two factors of a grid interact significantly."""
    factors = " and ".join(part.factors)
    if significant_interactions(part):
        return f"{factors} interact. Combined effect relative to the product of the separate effects:"
    if not any(each.p_value_holm is not None for each in part.interactions):
        return f"The interaction of {factors} was not tested."
    blocks = counted(part.blocks, "block")
    return f"No significant interaction of {factors} ({blocks})."


def scaling_rows(part: PartComparison) -> list[Row]:
    """Return the speed-ups by number of clients, with a header; empty without any."""
    if not part.scaling:
        return []
    numbers = list(dict.fromkeys(number for each in part.scaling for number in each.speedup))
    header = (factors_text(part), *(f"{quantity_named(each.quantity).words}, ratio to one" for each in part.scaling))
    return [header, *((number, *(ratio_text(each.speedup.get(number)) for each in part.scaling)) for number in numbers)]


def scaling_sentences(part: PartComparison) -> list[str]:
    """State the limit of each throughput's scaling."""
    sentences = []
    for each in part.scaling:
        words = quantity_named(each.quantity).words.capitalize()
        if each.serial_fraction is not None and each.serial_fraction.low is None:
            sentences.append(f"{words}: too few blocks to estimate a limit.")
        elif each.limit is None or each.serial_fraction is None:
            sentences.append(f"{words}: no limit found up to {max(map(int, each.speedup), default=1)} clients.")
        else:
            sentences.append(
                f"{words} levels off at {ratio_text(each.limit)} times one client's (Amdahl's law, serial fraction "
                f"{ratio_text(each.serial_fraction)})."
            )
    return sentences


def band_sentences(part: PartComparison) -> list[str]:
    """State where a latency jumps between neighboring levels."""
    return [
        f"{quantity_named(band.quantity).words.capitalize()} jumps {'up' if band.ratio.value > 1 else 'down'} between "
        f"{part.factors[0]} {band.lower} and {band.upper}: to {ratio_text(band.ratio)} times the trend of the curve "
        f"(p {p_text(band.p_value_holm)})."
        for band in part.bands
    ]


def limit_rows(part: PartComparison) -> list[Row]:
    """Return the evidence for each bottleneck, with a header; empty without any."""
    rows: list[Row] = [
        (named_level(level), resource_name(level.bottleneck), verdict_text(level.bottleneck, level.bottleneck_numbers))
        for level in part.levels
        if level.bottleneck and level.bottleneck_numbers
    ]
    return [(factors_text(part), "limited by", "found by"), *rows] if rows else []


def limit_sentences(part: PartComparison) -> list[str]:
    """Name the reference's bottleneck, and each level with another one; empty if not examined."""
    reference = part.reference_level
    others = [level for level in part.levels if level.bottleneck != reference.bottleneck]
    if not any(level.bottleneck_numbers for level in part.levels):
        return []
    return [
        f"{named_level(level)}: {verdict_text(level.bottleneck, level.bottleneck_numbers)}"
        for level in (reference, *others)
        if level.bottleneck is not None
    ]


def published_rows(part: PartComparison) -> list[Row]:
    """Return the published values of untested quantities, with a header."""
    names = dict.fromkeys(name for level in part.levels for name in level.published if name not in part.compared)
    if not names:
        return []
    rows = [(named_level(level), *(published_text(part, level, name) for name in names)) for level in part.levels]
    return [(factors_text(part), *(quantity_named(name).heading for name in names)), *rows]


def prediction_rows(part: PartComparison) -> list[Row]:
    """Return predicted beside measured, one row per quantity; empty without predictions."""
    names = dict.fromkeys(name for level in part.levels for name in level.predicted)
    if not names:
        return []
    header = (factors_text(part), *map(named_level, part.levels))
    rows = ((quantity_named(name).heading, *(_predicted(level, name) for level in part.levels)) for name in names)
    return [header, *rows]


def prediction_sentence(part: PartComparison) -> str:
    """Describe the table of predictions with the median errors of whole and stages.

    Both are given because the stages' errors may cancel in the whole.
    """
    wholes, stages = [], []
    for level in part.levels:
        errors = {
            name: abs(value - level.means[name])
            for name, value in level.predicted.items()
            if value is not None and name in level.means
        }
        for name in errors.keys() & set(part.compared):
            if not level.means[name]:  # no share of zero
                continue
            wholes.append(errors[name] / level.means[name])
            if of_stages := [error for each, error in errors.items() if each != name]:
                stages.append(sum(of_stages) / level.means[name])
    said = ["Predicted from a lightly loaded run; in parentheses, relative to the measured value."]
    if wholes:
        levels = counted(len(wholes), "level")
        said.append(f"Total: median error {100 * statistics.median(wholes):.0f} % ({levels}).")
    if stages:
        said.append(f"Sum of absolute stage errors: {100 * statistics.median(stages):.0f} % of the total.")
    return " ".join(said)


def notes(part: PartComparison) -> list[str]:
    """List remarks on single levels: a variant's settings, repetitions that did not count, notes."""
    found = []
    for level in part.levels:
        said = [text for text in (pairs_text(level.sets), outcomes_text(level), *_once_each(level)) if text]
        if said:
            found.append(f"{level_text(level)}: {'; '.join(said)}")
    return found


def _once_each(level: Level) -> list[str]:
    """Merge notes that differ only in numbers: the first one, with its number of repetitions."""
    alike: dict[str, list[str]] = {}
    for note in level.notes:
        alike.setdefault(_NUMBER.sub("#", note), []).append(note)
    valid, texts = counted(len(level.repetition_ids), "repetition"), []
    for first, *others in alike.values():
        vary = "; figures vary" if set(others) - {first} else ""
        is_of_all = len(others) + 1 == len(level.repetition_ids)
        texts.append(first if is_of_all and not vary else f"{first} ({len(others) + 1} of {valid}{vary})")
    return texts


def published_text(part: PartComparison, level: Level, name: str) -> str:
    """Return a published value with its ratio to the published reference in brackets."""
    value = level.published.get(name)
    if value is None:
        return NONE
    ratio = published_ratio(part, level, name)
    return number_text(value) if ratio is None or level.is_reference else f"{number_text(value)} ({times_text(ratio)})"


def named_level(level: Level) -> str:
    """Name a level by its values, and mark the reference."""
    return f"{level_text(level)} ({REFERENCE})" if level.is_reference else level_text(level)


def _predicted(level: Level, name: str) -> str:
    if name not in level.predicted:
        return NONE
    value, mean = level.predicted[name], level.means.get(name)
    if value is None:
        return "above its capacity"
    return f"{number_text(value)} ({times_text(value / mean)})" if mean else number_text(value)


def _means(part: PartComparison, quantity: Quantity) -> list[str]:
    return [mean_text(level, quantity) for level in part.levels]


def _over_reference(level: Level, quantity: Quantity) -> str:
    if level.is_reference:
        return REFERENCE
    estimate = level.estimate(quantity.name)
    return ratio_text(estimate.ratio, MARK if is_significant(estimate) else "")


def _cell(level: Level | None, quantity: Quantity) -> str:
    estimate = level.estimate(quantity.name) if level else None
    if level is None or estimate is None or estimate.mean is None:
        return NONE
    mean = f"{number_text(estimate.mean.value)}{of_measured_text(level, estimate)}"
    if level.is_reference:
        return f"{mean} (ref)"
    mark = MARK if is_significant(estimate) else ""
    return f"{mean} ({times_text(estimate.ratio.value)}{mark})" if estimate.ratio else mean
