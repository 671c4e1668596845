"""Check the figures of the documentation against the records that the pages name.

A section of a page names its record, a path below `benchmarks/data`. Two kinds of figures are then checked without
further marks: a value with its interval, as in `0.82 (0.66 to 1.03)` or `-59 % (-67 to -50)`, and a mean with its
deviation, as in `225 ± 351`. Each must be in the record, rounded as the page rounds it. Figures that stand alone are
listed in `claims.csv`, each with its place in the record that it comes from and the command that makes that record; a
bound or a default has the code or the study that sets it as its record. A number with a unit in a sentence of a page
that no interval, no deviation and no row of `claims.csv` covers is a fault. `python -m docs.figures` prints all faults.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from docs.records import DEVIATION, NUMBER, figures_of, plain, value_of

ROOT = Path(__file__).parents[1]
CLAIMS = Path(__file__).parent / "claims.csv"
PAGES = (ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("docs/results/*.md")))
BENCHMARKS = ROOT / "benchmarks" / "README.md"
"""The page into which benchmarks write their tables; its sentences are compared with these, or with other records."""
UNCOVERED = {"scaling.md", "study-reference.md"}
"""Pages whose single figures need no claim: they say of each where it comes from, or code writes them."""

_INTERVAL = re.compile(rf"({NUMBER})(?: ?%)?(?:[^()\d|]{{0,40}}\(|, )({NUMBER}) ?%? to ({NUMBER})(?! (?:of|in) )")
_MEASURED = re.compile(
    rf"({NUMBER}) ?(?:%|ms|s|min|minutes?|seconds?|h|hours?|times|CPU-s|[kKMG]i?B/s|[MG]bit/s"
    r"|(?:events|messages|orders|packets|records|requests|rows)(?:/s| a second))"
    r"(?![\w/]|\.\w| (?:bound|confidence|interval|quantile))"
)
_NO_SENTENCE = re.compile(r"(?ms)^```.*?^```$|^<!-- (\w+): begin.*?^<!-- \1: end -->$|^(?:    |\|).*?$|`[^`\n]*`")
_INTERRUPTED_MINUTES = 30
_RECORD = re.compile(r"benchmarks/data/[\w/.-]*\w")
_SCALES = (1.0, 1e-3, 1e-6)
"""Factors from a record's units to a page's: ms there and s here, or µs and ms."""


@dataclass(frozen=True)
class Section:
    """A section of a page, and the records that it or a section around it names."""

    page: Path
    heading: str
    text: str
    records: tuple[Path, ...]


def main() -> int:
    """Print each figure that its record does not hold; return 1 if there is any."""
    claims = read_claims()
    faults = [*faults_of_pages(PAGES, claims), *uncovered((*PAGES, BENCHMARKS), claims), *faults_of_claims(claims)]
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


def read_claims() -> pd.DataFrame:
    """Return the rows of `claims.csv`, all as text."""
    return pd.read_csv(CLAIMS, dtype=str, keep_default_na=False)


def faults_of_pages(pages: Sequence[Path], claims: pd.DataFrame) -> list[str]:
    """Return a line for each interval and deviation on the pages that no record of its section, and no claim, holds."""
    claimed = {(ROOT / page, figure) for page, figure in claims[["page", "figure"]].itertuples(index=False)}
    return [
        f"{section.page.name}, {section.heading!r}: {shown!r} is in no record of this section"
        f" ({', '.join(record.relative_to(ROOT).as_posix() for record in section.records) or 'it names none'})"
        for page in pages
        for section in sections_of(page)
        for shown in unsupported(section)
        if not any(page == of and figure.startswith(shown) for of, figure in claimed)
    ]


def uncovered(pages: Sequence[Path], claims: pd.DataFrame) -> list[str]:
    """Return a line for each number with a unit, in a sentence of a page, that nothing compares with a record."""
    faults = []
    for page in pages:
        text = plain(_NO_SENTENCE.sub("", page.read_text(encoding="utf-8")))
        figures = claims.figure[claims.page == page.relative_to(ROOT).as_posix()]
        compared = [_INTERVAL, DEVIATION, *(re.compile(rf"(?<![\w.,]){re.escape(figure)}") for figure in figures)]
        spans = [match.span() for pattern in compared for match in pattern.finditer(text)]
        faults += [
            f"{page.relative_to(ROOT)}: {match[0]!r}, without a claim, after {text[: match.start()][-40:]!r}"
            for match in _MEASURED.finditer(text)
            if page.name not in UNCOVERED and not any(start <= match.start() < end for start, end in spans)
        ]
    return faults


def faults_of_claims(claims: pd.DataFrame) -> list[str]:
    """Return a line for each row of the claims whose figure differs from its record, or is not on its page."""
    return [
        f"claims.csv, row {number}: {fault}"
        for number, claim in enumerate(claims.to_dict("records"), start=2)
        if (fault := _fault_of({str(key): str(value) for key, value in claim.items()}))
    ]


def sections_of(page: Path) -> Iterator[Section]:
    """Split a page at its headings; a section without a record of its own has that of the section around it."""
    around: dict[int, tuple[Path, ...]] = {}
    for part in re.split(r"(?m)^(?=#{1,6} )", page.read_text(encoding="utf-8")):
        marks, _, heading = part.partition("\n")[0].partition(" ")
        level = len(marks) if part.startswith("#") else 0
        around = {outer: records for outer, records in around.items() if outer < level}
        named = tuple(dict.fromkeys(ROOT / path for path in _RECORD.findall(part)))
        records = named or (around[max(around)] if around else ())
        around[level] = records
        yield Section(page, heading, plain(part), records)


def unsupported(section: Section) -> list[str]:
    """Return the intervals and deviations of a section that none of its records holds, as they are printed."""
    held = [figures_of(record) for record in section.records]
    intervals = [figure for each in held for figure in each.intervals]
    deviations = [figure for each in held for figure in each.deviations]
    return [
        *_missing(section.text, _INTERVAL, np.reshape(intervals, (-1, 3)), _SCALES[:2]),
        *_missing(section.text, DEVIATION, np.reshape(deviations, (-1, 2)), _SCALES),
    ]


def _missing(text: str, pattern: re.Pattern[str], known: np.ndarray, scales: Sequence[float]) -> list[str]:
    return [
        match[0]
        for match in pattern.finditer(text)
        if not any(_agree(match.groups(), scale * known).any() for scale in scales)
    ]


def _fault_of(claim: dict[str, str]) -> str | None:
    """Say what is wrong with one claim; None if nothing is.

    A record that is a table gives the figure by `where`, a pandas query for rows (all if empty), a `column` or a
    computation on columns, and a `statistic` of it: `value` (of the only row), `count` (of rows), `range` (median,
    minimum, maximum), `span` (minimum, maximum), `minutes` (from the first load to the end of the last), or a method of
    a Series. Any other record must have each number of the figure in the lines that contain `where`.
    """
    page, record = ROOT / claim["page"], ROOT / claim["record"]
    if claim["figure"] not in plain(page.read_text(encoding="utf-8")):
        return f"{claim['page']} does not say {claim['figure']!r}"
    if not record.exists():
        return f"the record {claim['record']} does not exist"
    shown, scale = re.findall(NUMBER, claim["figure"]), float(claim["scale"] or 1)
    if claim["statistic"]:
        figure = _figure(_table(record), claim["where"], claim["column"], claim["statistic"])
        agrees = len(shown) == len(figure) and bool(_agree(shown, scale * np.array(figure)))
    else:
        figure = tuple(_numbers(record, claim["where"]))
        agrees = all(_agree([number], scale * np.reshape(figure, (-1, 1))).any() for number in shown)
    found = ", ".join(f"{value:,.6g}" for value in figure)
    return None if agrees and shown else f"{claim['page']} says {claim['figure']!r}, the record {found or 'nothing'}"


@cache
def _table(record: Path) -> pd.DataFrame:
    return pd.read_csv(record, low_memory=False)


def _numbers(record: Path, where: str) -> list[float]:
    lines = (line for line in record.read_text(encoding="utf-8").splitlines() if where in line)
    return [value_of(number) for line in lines for number in re.findall(NUMBER, line.replace("_", ""))]


def _figure(table: pd.DataFrame, where: str, column: str, statistic: str) -> tuple[float, ...]:
    rows = table.query(where) if where else table
    if statistic == "count":
        return (float(len(rows)),)
    if statistic == "minutes":
        return (_minutes(rows),)
    values = rows.eval(column)
    if statistic == "value":
        return (float(values.item()),)
    names = {"range": ("median", "min", "max"), "span": ("min", "max")}.get(statistic, (statistic,))
    return tuple(float(getattr(values, name)()) for name in names)


def _minutes(repetitions: pd.DataFrame) -> float:
    """Return how long a campaign measured, without the time for which it was interrupted."""
    started = pd.to_datetime(repetitions.started_at, format="ISO8601").sort_values()
    ended = (started + pd.to_timedelta(repetitions.wall_s, unit="s")).max()
    pauses = started.diff().dt.total_seconds() / 60
    total = (ended - started.iloc[0]).total_seconds() / 60
    return float(total - pauses[pauses > _INTERRUPTED_MINUTES].sum())


def _agree(shown: Sequence[str], figures: np.ndarray) -> np.ndarray:
    """Return of each row of figures whether the numbers as printed are its own, rounded to the last place printed."""
    values, places = (np.array(list(map(each, shown))) for each in (value_of, _last_place))
    within: np.ndarray = (np.abs(figures - values) <= 0.501 * places).all(axis=-1)
    return within


def _last_place(text: str) -> float:
    """Return the unit of the last place of a number; of 264,000 that is 1,000, since the zeros may be rounding."""
    digits = text.replace(",", "").lstrip("+-")
    if "." in digits:
        return float(10.0 ** -len(digits.partition(".")[2]))
    return float(10.0 ** (len(digits) - len(digits.rstrip("0")))) if len(digits) > 3 else 1.0


if __name__ == "__main__":
    sys.exit(main())
