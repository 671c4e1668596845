"""Build the first screen of a comparison of ingestions: rows/s, bottlenecks, and lost, duplicate and wrong rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_pareto.analysis.wording import counted
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.comparison.records import Level, PartComparison
from kafka_pareto.comparison.screen import MOST_LINES, fitting, listed, ratio_cell, screen_table
from kafka_pareto.comparison.words import NONE, number_text, pairs_text, resource_name
from kafka_pareto.study.compare import Compare
from kafka_pareto.study.parts import VARIANT

_RATE = "rows_s"


def answer_lines(
    study: Compare, parts: Sequence[PartComparison], repetitions: Mapping[str, Sequence[Repetition]]
) -> list[str]:
    """Return the answer in at most 14 lines of 80 columns, the part with the highest rate first."""
    closing = _checked_lines(study, repetitions)
    ranked = [(part, sorted(part.levels, key=_rate, reverse=True)) for part in parts]
    ranked.sort(key=lambda each: -_rate(each[1][0]))
    found = [(part, level) for part, levels in ranked for level in levels]
    first = [(part, levels[0]) for part, levels in ranked]
    references = [(part, part.reference_level) for part, _ in ranked]
    # Each part's fastest level comes first, then its reference, then the others.
    by_rate = sorted(found, key=_rate_of, reverse=True)
    wanted = list(dict.fromkeys(id(level) for _, level in (*first, *references, *by_rate)))
    room = MOST_LINES - 1 - len(closing)
    kept = wanted if len(wanted) <= room else wanted[: room - 1]
    rows: list[tuple[str, ...]] = [("level (* significant)", "rows/s", "ratio [95 %]", "limited by")]
    rows += [_row(part, level, kept) for part, level in found if id(level) in kept]
    return [*screen_table(rows, "right"), *_more_line([each for each in found if id(each[1]) not in kept]), *closing]


def _rate(level: Level) -> float:
    return level.means.get(_RATE, 0.0)


def _rate_of(each: tuple[PartComparison, Level]) -> float:
    return _rate(each[1])


def _row(part: PartComparison, level: Level, shown: Sequence[int]) -> tuple[str, ...]:
    ratio = "reference" if level.is_reference else ratio_cell(level.estimate(_RATE))
    rate = number_text(level.means[_RATE]) if _RATE in level.means else NONE
    limit = NONE if level.bottleneck is None else resource_name(level.bottleneck)
    return (_named(part, level, is_reference_shown=id(part.reference_of(level)) in shown), rate, ratio, limit)


def _named(part: PartComparison, level: Level, *, is_reference_shown: bool = True) -> str:
    """Return the level's settings (a variant's part and name), and the replaced values if no other row shows them."""
    theirs = part.reference_of(level).values
    if is_reference_shown or level.is_reference:
        texts = {name: str(value) for name, value in level.values.items()}
    else:
        texts = {name: f"{theirs[name]} → {value}" for name, value in level.values.items() if value != theirs[name]}
    if VARIANT in texts:
        return f"{part.part}: {texts[VARIANT]}"
    return pairs_text(texts)


def _more_line(left: Sequence[tuple[PartComparison, Level]]) -> list[str]:
    """Sum up the levels that do not fit."""
    if not left:
        return []
    part, slowest = min(left, key=_rate_of)
    named = f"{number_text(_rate(slowest))} rows/s ({_named(part, slowest)})"
    return [fitting(f"… and {len(left)} more; slowest {named}")]


def _checked_lines(study: Compare, repetitions: Mapping[str, Sequence[Repetition]]) -> list[str]:
    """Count the rows of all accepted repetitions: lost, duplicated and wrong ones, if read back."""
    runs = [each for found in repetitions.values() for each in found]
    unread = [each for each in runs if each.quantities.get("read_back") not in ("equal", "different")]
    every = [each.quantities for each in runs]
    compared = [each.quantities for each in runs if each not in unread]
    differences = [int(each["rows_in_file"] or 0) - int(each["rows_read_back"] or 0) for each in compared]
    rows = sum(int(each["rows_in_file"] or 0) for each in compared)
    lost, duplicated = sum(max(each, 0) for each in differences), sum(max(-each, 0) for each in differences)
    wrong = sum(each["read_back"] == "different" for each in compared)
    malformed = sum(int(each.get("rows_malformed") or 0) for each in every)
    counts = [f"{lost:,} lost", f"{duplicated:,} duplicated", f"{counted(wrong, 'run')} with wrong rows"]
    paths = dict.fromkeys(str(study.effective(each.configuration)["path"]) for each in unread)
    return [
        listed(f"{rows:,} rows read back: ", counts),
        *([listed(f"Not read back: {counted(len(unread), 'run')} of path ", list(paths))] if unread else []),
        *([f"Dead-letter topic: {counted(malformed, 'malformed line')}"] if malformed else []),
    ]
