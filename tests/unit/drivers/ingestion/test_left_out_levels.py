"""No kcat for a file whose lines are not its rows; with shell scripts in kcat's and Java's place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafka_pareto.drivers.ingestion.runtime import IngestionRuntime
from kafka_pareto.drivers.ingestion.studies import CompareIngestion
from kafka_pareto.settings import Settings

pytestmark = pytest.mark.fast

ROWS = b"id,price\n1,2\n3,4\n"


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
    study = CompareIngestion.model_validate(
        {
            "schema_version": 1,
            "kind": "compare",
            "driver": "ingestion",
            "name": "example",
            "description": "Of a test.",
            "tables": [{"factor": "path", "levels": ["producer", path]}],
            "workload": {"file": str(file)},
        }
    )
    found = f'{{"file": {{"rows": 2, "hash": "{"0" * 32}"}}}}'
    java = script(folder / "bin" / "check", f"echo '{found}'")
    return IngestionRuntime().fault_here(study, Settings(java=str(java), kafka_jars=folder), {"path": path})


def test_lines_that_are_rows_can_be_sent(tmp_path: Path) -> None:
    assert fault(tmp_path, ROWS) == ""


def test_carriage_returns_would_be_sent_along(tmp_path: Path) -> None:
    found = fault(tmp_path, ROWS.replace(b"\n", b"\r\n"))

    file = tmp_path / "rows.csv"
    assert found == f"kcat sends each line as it stands, and {file} has carriage returns at the ends of its lines"


@pytest.mark.parametrize(
    "content",
    [ROWS + b"malformed\n", ROWS + b"\n", b"sep=,\n" + ROWS, ROWS.replace(b"3,4", b'3,"4\n"')],
    ids=["malformed", "blank", "before the header", "quoted line break"],
)
def test_lines_that_are_no_rows_would_be_sent_along(tmp_path: Path, content: bytes) -> None:
    assert fault(tmp_path, content).endswith("rows.csv has 4 lines for a header and 2 rows")


def test_paths_that_read_rows_can_send_any_file(tmp_path: Path) -> None:
    assert fault(tmp_path, ROWS.replace(b"\n", b"\r\n"), path="batches") == ""
