"""Print which injected causes are found by today's rules: `python -m benchmarks.planted_table`.

Reads `data/planted_causes.jsonl`, which `python -m benchmarks.planted_causes` writes. `tables.md` has the tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, get_args

import typer

from benchmarks.planted import CAUSES
from benchmarks.planted_causes import RECORDS, Planted, read_planted
from kafka_pareto.bottleneck.words import LABELS
from kafka_pareto.doctor.symptoms import CauseCode

_NONE = "none"
_OR = " or "


def main(records: Annotated[Path, typer.Option(help="what was counted")] = RECORDS) -> None:
    """Print the tables as Markdown."""
    planted = read_planted(records)
    print("\n\n".join((how_table(planted), limits_table(planted), symptoms_table(planted))))


def how_table(planted: Sequence[Planted]) -> str:
    """Report for each cause how it was made, in how many loads, and their verdicts."""
    rows = []
    for cause in CAUSES:
        loads = [each for each in planted if each.cause == cause.name]
        if not loads:
            continue
        named = ", ".join([*([f"limit {cause.limit}"] if cause.limit else []), *cause.symptoms]) or "nothing"
        symptoms = Counter(_OR.join(causes) for load in loads for causes in causes_of_each(load) if causes)
        limits = Counter(load.verdict().code or _NONE for load in loads if not load.is_of_consumers)
        rows.append((f"`{cause.name}`", cause.how, named, _counts(limits) or "-", _counts(symptoms) or _NONE))
    return _table(("cause", "how it was made", "to be found", "limit found (loads)", "symptoms' causes found"), rows)


def limits_table(planted: Sequence[Planted]) -> str:
    """Count the loads by the limit that was made and the one that was found."""
    limits = {cause.name: cause.limit for cause in CAUSES if cause.limit}
    found: Counter[tuple[str, str]] = Counter(
        (limits[each.cause], each.verdict().code) for each in planted if each.cause in limits
    )
    codes = [*filter(None, LABELS), ""]
    rows = [
        (f"`{made}`", *(str(found[made, code]) if found[made, code] else "" for code in codes))
        for made in LABELS
        if made in limits.values()
    ]
    return _table(("made, found", *(f"`{code}`" if code else _NONE for code in codes)), rows)


def symptoms_table(planted: Sequence[Planted]) -> str:
    """Count, for each cause of a symptom, the loads in which it was found: where it was made, and elsewhere.

    Of those, some were found as one of two causes that fit.
    """
    made_by = {cause.name: cause.symptoms for cause in CAUSES}
    rows = []
    for code in get_args(CauseCode):
        cells = [f"`{code}`"]
        for is_made in (True, False):
            loads = [each for each in planted if (code in made_by[each.cause]) == is_made]
            fitting = [(each.cause, causes) for each in loads for causes in causes_of_each(each) if code in causes]
            cells += [f"{len(fitting)} of {len(loads)}", str(sum(len(causes) > 1 for _, causes in fitting))]
        rows.append((*cells, ", ".join(dict.fromkeys(cause for cause, _ in fitting))))
    head = ("cause of a symptom", "found where made", "as one of two", "found elsewhere", "as one of two", "there")
    return _table(head, rows)


def causes_of_each(load: Planted) -> list[list[CauseCode]]:
    """List, for each measurement of a load that shows a symptom, the causes that today's rules find."""
    return [[cause.code for cause in diagnosis.causes] for diagnosis in load.diagnoses()]


def causes_in(load: Planted) -> list[CauseCode]:
    """List the symptoms' causes that today's rules find in a load."""
    return [code for causes in causes_of_each(load) for code in causes]


def _counts(found: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in found.items())


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


if __name__ == "__main__":
    typer.run(main)
