"""Files with secrets: several writers and readers at once see whole ones alone."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kafka_pareto.storage.private_file import write_private

pytestmark = pytest.mark.fast

WRITERS, WRITES, LINES = 4, 25, 2_000


def test_a_writer_that_is_overtaken_before_it_renames_puts_its_own_whole_file_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, sync, overtaken = tmp_path / "secrets.env", os.fsync, list[bool]()

    def overtake(handle: int) -> None:
        sync(handle)
        if not overtaken:
            overtaken.append(True)
            write_private(path, "second")

    monkeypatch.setattr(os, "fsync", overtake)
    write_private(path, "first")

    assert path.read_text() == "first"
    assert [each.name for each in tmp_path.iterdir()] == ["secrets.env"]


def test_readers_beside_several_writers_read_whole_files_alone(tmp_path: Path) -> None:
    path = tmp_path / "secrets.env"
    texts = [f"{writer}\n" * LINES for writer in range(WRITERS)]
    write_private(path, texts[0])

    def write(text: str) -> None:
        for _ in range(WRITES):
            write_private(path, text)

    with ThreadPoolExecutor(WRITERS) as pool:
        writing = [pool.submit(write, text) for text in texts]
        read = [path.read_text()]
        while not all(each.done() for each in writing):
            read.append(path.read_text())

    for each in writing:
        each.result()
    assert set(read) <= set(texts)
    assert [each.name for each in tmp_path.iterdir()] == ["secrets.env"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_write_that_fails_leaves_the_file_as_it_was_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "secrets.env"
    write_private(path, "kept")

    def disk_full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", disk_full)
    with pytest.raises(OSError, match="No space left"):
        write_private(path, "lost")

    assert path.read_text() == "kept"
    assert [each.name for each in tmp_path.iterdir()] == ["secrets.env"]
