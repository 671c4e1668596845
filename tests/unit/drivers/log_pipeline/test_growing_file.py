from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.drivers.log_pipeline.growing_file import GrowingFile

pytestmark = pytest.mark.fast


def test_a_window_has_the_lines_added_since_it_began(tmp_path: Path) -> None:
    path = tmp_path / "log"
    file = GrowingFile(path)
    assert file.text() == ""

    path.write_text("één\nzwei\n", encoding="utf-8")
    assert file.text() == file.text() == "één\nzwei\n"
    file.begin_window()
    assert file.text() == ""

    with path.open("a") as added:
        added.write("three\nfou")
    assert file.text() == "three\n"
    file.begin_window()
    with path.open("a") as added:
        added.write("r\n")
    assert file.text() == "four\n"


def test_a_line_added_after_the_last_read_belongs_to_the_next_window(tmp_path: Path) -> None:
    path = tmp_path / "log"
    file = GrowingFile(path)
    path.write_text("one\n")
    file.text()
    with path.open("a") as added:
        added.write("two\n")
    file.begin_window()

    assert file.text() == "two\n"
