"""Format a part of a comparison as text for a terminal, and as CSV with every number and its repetition ids."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Sequence
from typing import Any

from kafka_pareto.analysis.plain_table import table_lines
from kafka_pareto.analysis.wording import counted
from kafka_pareto.comparison.records import Level, PartComparison
from kafka_pareto.comparison.remarks import Remarks, ceiling_rows, ceilings_sentence, share_rows, shown_text
from kafka_pareto.comparison.rows import (
    MARK,
    PUBLISHED,
    Row,
    band_sentences,
    interaction_rows,
    interaction_sentence,
    limit_sentences,
    matrix_rows,
    notes,
    other_rows,
    prediction_rows,
    prediction_sentence,
    quantity_rows,
    scaling_rows,
    scaling_sentences,
)
from kafka_pareto.comparison.series_rows import crossover_rows, range_rows, range_sentences, series_rows
from kafka_pareto.comparison.words import (
    compared_quantities,
    factors_text,
    fixed_text,
    of_measured_text,
    other_quantities,
    quantity_named,
    setting_text,
)
from kafka_pareto.study.parts import VARIANT

WIDTH = 110
NEAR_A_CEILING = 0.5
_INDENT = "  "
_COLUMN_GAP = 2

_ESTIMATE_COLUMNS = (
    "quantity", "unit", "is_compared", "repetitions", "mean", "mean_low", "mean_high", "sd", "ratio", "ratio_low",
    "ratio_high", "p_value_holm", "welch_p_value", "relative", "relative_sd", "letters", "published", "predicted",
)  # fmt: skip


def comparison_text(parts: Sequence[PartComparison]) -> str:
    """Return all parts and their legend as text, at most `WIDTH` columns wide."""
    lines = [line for sentence in legend(parts) for line in _wrapped(sentence, "")]
    return "\n".join([*(part_text(part) for part in parts), *lines]) + "\n"


def part_text(part: PartComparison) -> str:
    """Return a part as text, at most `WIDTH` columns wide; longer words and cells are kept whole."""
    lines = _wrapped(title(part), "")
    for heading, rows in _text_tables(part):
        lines += ["", *_wrapped(heading), *(_table(rows) if rows else [])]
    if sentences := [*part_sentences(part), *(f"Note: {note}" for note in notes(part))]:
        lines += ["", *(line for sentence in sentences for line in _wrapped(sentence))]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def part_sentences(part: PartComparison) -> list[str]:
    """List the conclusions shown beside a part's tables."""
    return [*scaling_sentences(part), *band_sentences(part), *range_sentences(part), *limit_sentences(part)]


def part_tables(part: PartComparison) -> list[tuple[str, list[Row]]]:
    """Return all tables of a part as title and rows; rows may be empty."""
    quantities = compared_quantities(part)
    if part.kind == "series":
        compared = [("Over ranges", range_rows(part)), ("Crossovers", crossover_rows(part))]
        tables = [(each.heading, series_rows(part, each)) for each in (*quantities, *other_quantities(part))]
        return [*((heading, rows) for heading, rows in compared if rows), *tables]
    if part.kind == "grid":
        tables = [(each.heading, matrix_rows(part, each)) for each in quantities]
        return [*tables, (interaction_sentence(part), interaction_rows(part))]
    all_rows = [*(quantity_rows(part, each) for each in quantities), other_rows(part), scaling_rows(part)]
    tables = [("", rows) for rows in all_rows if rows]
    predicted = prediction_rows(part)
    return [*tables, (prediction_sentence(part), predicted)] if predicted else tables


def _text_tables(part: PartComparison) -> list[tuple[str, list[Row]]]:
    """Return the compared quantities' tables; a terminal has no room for the rest."""
    quantities = compared_quantities(part)
    if part.kind == "grid":
        return part_tables(part)
    if part.kind == "series":
        tables = [(each.heading, series_rows(part, each)) for each in quantities]
        return [*tables, *(("", rows) for rows in (range_rows(part), crossover_rows(part)) if rows)]
    return [("", rows) for rows in (*(quantity_rows(part, each) for each in quantities), scaling_rows(part)) if rows]


def title(part: PartComparison) -> str:
    """Return what the part varies, its reference and its number of blocks."""
    factors, reference = factors_text(part), setting_text(part.reference)
    if part.factors == [VARIANT]:
        factors, reference = "variants", str(part.reference[VARIANT])
    name = f"{part.part}: " if part.part != factors.replace(".", "_").lower() else ""
    if len(part.levels) == 1:
        return f"{name}{reference}{fixed_text(part)}, in {counted(part.blocks, 'block')}"
    beside = f"compared with {reference}"
    if part.kind == "series":
        compared, along = part.factors
        beside = f"compared with {compared} {part.reference[compared]} at the same {along}"
    return f"{name}{factors}{fixed_text(part)}, {beside}, in {counted(part.blocks, 'block')}"


def legend(parts: Sequence[PartComparison]) -> list[str]:
    """Explain the marks and columns of the parts' tables."""
    in_brackets = "" if all(part.kind == "table" for part in parts) else "; in parentheses in a grid or a series"
    sentences = [
        f"{MARK} differs significantly from the reference (5 %, Holm's adjustment over all levels and compared "
        "quantities of the part). Ratio to reference: from the blocks that measured both, with its 95 % "
        f"interval{in_brackets}."
    ]
    if any(part.kind == "table" for part in parts):
        sentences.append(
            "Means are given with their standard deviation over the repetitions. Relative: times worse than the best "
            "level. Levels that share a letter do not differ significantly."
        )
    levels = [level for part in parts for level in part.levels]
    if any(each.mean and of_measured_text(level, each) for level in levels for each in level.estimates.values()):
        sentences.append("`n of m` in parentheses: only n of m repetitions have the quantity.")
    if any(part.range_ratios for part in parts):
        sentences.append(
            "Over a range: the mean ratio over its points, within blocks; adjusted over all ranges, pairs and "
            "compared quantities. A crossover is shown if the better of two levels is not the same over the first "
            "range and the last; its interval is a bootstrap over blocks."
        )
    if any(level.published for part in parts if part.kind != "grid" for level in part.levels):
        sentences.append(
            f"{PUBLISHED.capitalize()}: on another machine, not tested; in parentheses the ratio to the published "
            "reference."
        )
    return sentences


def remarks_text(remarks: Remarks) -> str:
    """Return symptoms and machine ceilings as text.

    Only levels near a ceiling are listed; the CSV has all.
    """
    lines: list[str] = []
    if remarks.symptoms:
        lines.append("Symptoms at the reference")
        for symptom in remarks.symptoms:
            lines += _wrapped(symptom.text)
            for cause in symptom.causes:
                lines += _wrapped(f"{cause.text} {shown_text(cause)}", 2 * _INDENT)
        lines.append("")
    for rows in (ceiling_rows(remarks.ceilings), share_rows(remarks.parts, NEAR_A_CEILING)):
        lines += [*_table(rows), ""] if rows else []
    if remarks.ceilings is not None:
        lines += [*_wrapped(ceilings_sentence(remarks.ceilings)), ""]
    return "\n".join(lines)


def part_csv(part: PartComparison) -> str:
    """Return every level and quantity as CSV: unrounded numbers and repetition ids.

    A published value of an unmeasured quantity has a row of its own.
    """
    content = io.StringIO()
    factor_columns = [f"factor {name}" for name in part.factors]
    header = [
        "part", "kind", "fixed", "configuration_id", "is_reference", *factor_columns, *_ESTIMATE_COLUMNS, "limited_by",
        "limited_by_numbers", "ceiling_shares", "outcomes", "notes", "repetition_ids",
    ]  # fmt: skip
    writer = csv.DictWriter(content, header, lineterminator="\n")
    writer.writeheader()
    for level in part.levels:
        of_level = {
            "part": part.part,
            "kind": part.kind,
            "fixed": _pairs(part.fixed),
            "configuration_id": level.configuration_id,
            "is_reference": level.is_reference,
            **{f"factor {name}": level.values[name] for name in part.factors},
            "limited_by": level.bottleneck or "",
            "limited_by_numbers": _pairs(level.bottleneck_numbers),
            "ceiling_shares": _pairs(level.ceiling_shares),
            "outcomes": _pairs(level.outcomes),
            "notes": "; ".join(dict.fromkeys(level.notes)),
            "repetition_ids": " ".join(level.repetition_ids),
        }
        names = [*level.estimates, *(name for name in level.published if name not in level.estimates)]
        writer.writerows(of_level | _numbers(part, level, name) for name in names)
    return content.getvalue()


def _numbers(part: PartComparison, level: Level, name: str) -> dict[str, Any]:
    estimate = level.estimates.get(name)
    found: dict[str, Any] = {
        "quantity": name,
        "unit": quantity_named(name).unit,
        "is_compared": name in part.compared,
        "published": level.published.get(name),
        "predicted": level.predicted.get(name),
        **(estimate.model_dump(exclude={"mean", "ratio"}) if estimate else {}),
    }
    intervals = {"mean": estimate.mean, "ratio": estimate.ratio} if estimate else {}
    for column, interval in intervals.items():
        if interval:
            found |= {column: interval.value, f"{column}_low": interval.low, f"{column}_high": interval.high}
    return found


def _pairs(values: Any) -> str:
    return "; ".join(f"{name}={value}" for name, value in values.items())


def _table(rows: Sequence[Row]) -> list[str]:
    """Align the rows; columns that do not fit continue below, with the first column repeated."""
    lines: list[str] = []
    for fitting in _fitting(rows):
        header, *body = table_lines(fitting)
        rule = "-" * max(map(len, (header, *body)))
        lines += [*([""] if lines else []), *(f"{_INDENT}{line}" for line in (header, rule, *body))]
    return lines


def _fitting(rows: Sequence[Row]) -> list[list[Row]]:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    groups: list[list[int]] = [[]]
    free = WIDTH - len(_INDENT) - widths[0]
    for at in range(1, len(widths)):
        needed = widths[at] + _COLUMN_GAP
        if groups[-1] and needed > free:
            groups.append([])
            free = WIDTH - len(_INDENT) - widths[0]
        groups[-1].append(at)
        free -= needed
    return [[(row[0], *(row[at] for at in group)) for row in rows] for group in groups]


def _wrapped(text: str, indent: str = _INDENT) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
