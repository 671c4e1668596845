"""No kcat for a file whose lines are not its rows; shell scripts stand in for kcat and Java."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafka_pareto.drivers.ingestion.runtime import IngestionRuntime
from kafka_pareto.drivers.ingestion.studies import CompareIngestion
from kafka_pareto.settings import Settings

pytestmark = pytest.mark.fast

ROWS = b"id,price\n1,2\n3,4\n"
CARRIAGE_RETURNS = ROWS.replace(b"\n", b"\r\n")


@pytest.fixture(autouse=True)
def kcat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / "bin" / "kcat", "exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return path


def fault(folder: Path, content: bytes, path: str = "kcat") -> str:
    file = folder / "rows.csv"
    file.write_bytes(content)
    study = CompareIngestion(
        schema_version=1,
        name="example",
        description="Of a test.",
        tables=[{"factor": "path", "levels": ["producer", path]}],
        workload={"file": str(file)},
    )
    found = f'{{"file": {{"rows": 2, "hash": "{"0" * 32}"}}}}'
    java = script(folder / "bin" / "check", f"echo '{found}'")
    return IngestionRuntime().fault_here(study, Settings(java=str(java), kafka_jars=folder), {"path": path})


@pytest.mark.parametrize(("content", "path"), [(ROWS, "kcat"), (CARRIAGE_RETURNS, "batches")])
def test_kcat_can_send_lines_that_are_rows_and_other_paths_any_file(tmp_path: Path, content: bytes, path: str) -> None:
    assert fault(tmp_path, content, path) == ""


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (CARRIAGE_RETURNS, "lines ending in carriage returns"),
        (ROWS + b"malformed\n", "4 lines for a header and 2 rows"),
        (ROWS + b"\n", "4 lines for a header and 2 rows"),
        (b"sep=,\n" + ROWS, "4 lines for a header and 2 rows"),
        (ROWS.replace(b"3,4", b'3,"4\n"'), "4 lines for a header and 2 rows"),
    ],
    ids=["carriage returns", "malformed", "blank", "before the header", "quoted line break"],
)
def test_lines_that_are_no_rows_would_be_sent_along(tmp_path: Path, content: bytes, says: str) -> None:
    assert fault(tmp_path, content) == f"kcat sends lines unchanged, but {tmp_path / 'rows.csv'} has {says}"
