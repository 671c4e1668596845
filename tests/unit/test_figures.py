"""The figures of the documentation are those of the records that it names."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from docs.figures import (
    BENCHMARKS,
    PAGES,
    faults_of_claims,
    faults_of_pages,
    read_claims,
    sections_of,
    uncovered,
    unsupported,
)

pytestmark = [pytest.mark.fast, pytest.mark.slow]

RECORD = "benchmarks/data/campaigns/impact/tables"
CLAIM = {"page": "page.md", "figure": "310 repetitions", "record": "repetitions.csv", "where": "", "column": ""}


def test_every_interval_and_deviation_on_a_page_is_in_the_record_of_its_section() -> None:
    assert faults_of_pages(PAGES, read_claims()) == []


def test_every_claim_is_on_its_page_and_agrees_with_its_record() -> None:
    assert faults_of_claims(read_claims()) == []


def test_every_number_with_a_unit_in_a_sentence_is_compared_with_a_record() -> None:
    assert uncovered((*PAGES, BENCHMARKS), read_claims()) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It took 31 s, and 1,200 rows/s.", ["31 s", "1,200 rows/s"]),
        ("It took 30 s, 82 (60 to 90), and 2 s of `linger.ms 5 s`.", ["2 s"]),
        ("Intervals hold with 95 % confidence, at replication 3, min.insync.replicas 2, on 2 cores.", []),
        ("<!-- table: begin -->\n12 s\n<!-- table: end -->", []),
        ("| a table | 12 s |\n\n    a command 12 s\n\n```text\n12 s\n```", []),
    ],
)
def test_a_number_with_a_unit_that_no_claim_covers_is_found(
    text: str, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docs.figures.ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(text)

    faults = uncovered([page], pd.DataFrame([CLAIM | {"figure": "took 30 s"}]))

    assert [fault.partition(", without")[0] for fault in faults] == [f"page.md: {figure!r}" for figure in expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("acks=all has 0.82 (0.66 to 1.03) times the throughput", []),
        ("acks=all has **-18 %** (-34 to +3) of it", []),
        ("acks=all has 0.83 (0.66 to 1.03) times the throughput", ["0.83 (0.66 to 1.03"]),
        ("acks=all has 0.82 (0.66 to 1.04) times the throughput", ["0.82 (0.66 to 1.04"]),
        ("batches of 16 KiB: 321 ± 205 ms, or 0.321 ± 0.205 s", []),
        ("batches of 16 KiB: 321 ± 206 ms", ["321 ± 206"]),
    ],
)
def test_a_figure_that_differs_from_its_record_is_found(text: str, expected: list[str], tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Measured\n\nRaw data: `{RECORD}`.\n\n## Throughput\n\n{text}\n")

    _, _, section = sections_of(page)

    assert unsupported(section) == expected


def test_a_figure_of_a_section_that_names_no_record_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"## One\n\n`{RECORD}`\n\n## Two\n\n0.82 (0.66 to 1.03)\n")

    assert [unsupported(section) for section in sections_of(page)] == [[], [], ["0.82 (0.66 to 1.03"]]


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ({"statistic": "count"}, "page.md says '310 repetitions', the record 3"),
        ({"figure": "3 repetitions", "statistic": "count"}, None),
        ({"figure": "2 of acks", "where": "acks == 1", "statistic": "count"}, None),
        ({"figure": "20 MiB/s (10 to 60)", "column": "mib_s", "statistic": "range"}, None),
        ({"figure": "0.03 GiB/s", "column": "mib_s", "statistic": "mean", "scale": "0.001"}, None),
        ({"figure": "31 MiB/s", "column": "mib_s", "statistic": "mean"}, "page.md says '31 MiB/s', the record 30"),
        ({"figure": "nowhere 3", "statistic": "count"}, "page.md does not say 'nowhere 3'"),
        ({"figure": "3 repetitions", "record": "gone.csv"}, "the record gone.csv does not exist"),
        ({"figure": "10 to 60", "column": "mib_s", "statistic": "span"}, None),
        ({"figure": "10 to 60", "column": "mib_s", "statistic": "max"}, "page.md says '10 to 60', the record 60"),
        ({"figure": "31 MiB/s", "column": "mib_s + 1", "statistic": "mean"}, None),
        ({"figure": "3 repetitions", "statistic": "minutes"}, None),
        ({"figure": "3 repetitions", "record": "limits.py", "where": "MOST"}, None),
        (
            {"figure": "2 of acks", "record": "limits.py", "where": "MOST"},
            "page.md says '2 of acks', the record 3, 1,000",
        ),
        ({"figure": "nowhere", "record": "limits.py", "where": "MOST"}, "page.md says 'nowhere', the record 3, 1,000"),
    ],
)
def test_a_claim_is_checked_against_its_record(
    claim: dict[str, str], expected: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docs.figures.ROOT", tmp_path)
    # A pause of two hours between the second and the third repetition does not count.
    times = ("2026-01-01T00:00:00", "2026-01-01T00:01:00", "2026-01-01T02:01:00")
    rows = zip(("1,10", "1,20", "-1,60"), times, strict=True)
    (tmp_path / "repetitions.csv").write_text(
        "acks,mib_s,started_at,wall_s\n" + "".join(f"{row},{time},120\n" for row, time in rows)
    )
    (tmp_path / "limits.py").write_text("LEAST = 2\nMOST = 3, 1_000\n")
    (tmp_path / "page.md").write_text(
        "310 repetitions, 3 repetitions, 2 of acks=1, 20 MiB/s (10 to 60), 0.03 GiB/s, 31 MiB/s, nowhere"
    )

    faults = faults_of_claims(pd.DataFrame([CLAIM | {"statistic": "", "scale": ""} | claim]))

    assert faults == ([f"claims.csv, row 2: {expected}"] if expected else [])
