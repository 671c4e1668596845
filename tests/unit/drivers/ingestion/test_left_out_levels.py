"""Leaves out kcat where the lines of a user's file are not its rows; with shell scripts in kcat's and Java's place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafka_pareto.drivers.ingestion.driver import IngestionDriver
from kafka_pareto.settings import Settings
from kafka_pareto.study.compare_ingestion import CompareIngestion

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


def fault(folder: Path, content: bytes, malformed: int = 0, blank_lines: int = 0, path: str = "kcat") -> str:
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
    found = f'{{"file": {{"rows": 2, "hash": "{"0" * 32}", "malformed": {malformed}, "blank_lines": {blank_lines}}}}}'
    java = script(folder / "bin" / "check", f"echo '{found}'")
    return IngestionDriver().fault_here(study, Settings(java=str(java), kafka_jars=folder), {"path": path})


def test_lines_that_are_rows_can_be_sent(tmp_path: Path) -> None:
    assert fault(tmp_path, ROWS) == ""


def test_carriage_returns_would_be_sent_along(tmp_path: Path) -> None:
    found = fault(tmp_path, ROWS.replace(b"\n", b"\r\n"))

    assert found == f"kcat would send the carriage returns at the ends of lines of {tmp_path / 'rows.csv'}"


def test_blank_and_malformed_lines_would_be_sent_along(tmp_path: Path) -> None:
    found = fault(tmp_path, ROWS, malformed=3, blank_lines=2)

    assert found.startswith("kcat would send the 5 blank and malformed lines of ")


def test_paths_that_read_rows_can_send_any_file(tmp_path: Path) -> None:
    assert fault(tmp_path, ROWS.replace(b"\n", b"\r\n"), malformed=3, path="batches") == ""
