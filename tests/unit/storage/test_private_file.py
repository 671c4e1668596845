"""Files with secrets: concurrent writers and readers see only complete ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kafka_pareto.storage.private_file import remove_leftovers, write_private

pytestmark = pytest.mark.fast

WRITERS, WRITES, LINES = 4, 25, 2_000


def test_a_writer_overtaken_before_its_rename_still_writes_a_complete_file(
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


def test_readers_read_only_complete_files_during_concurrent_writes(tmp_path: Path) -> None:
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


KILLED_WRITER = """
import os, signal, sys
from pathlib import Path
from kafka_pareto.storage.private_file import write_private
os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
write_private(Path(sys.argv[1]), "password=hidden")
"""


def test_the_leftovers_of_a_killed_writer_are_removed_by_the_next_one_but_not_those_of_a_running_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "secrets.env"
    argv = [sys.executable, "-c", KILLED_WRITER, str(path)]
    killed = subprocess.run(argv, env={"PYTHONPATH": os.pathsep.join(sys.path)}, check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    left = [each.name for each in tmp_path.iterdir()]
    assert len(left) == 1
    seen: list[set[str]] = []

    def look(_: int) -> None:
        remove_leftovers(tmp_path)
        seen.append({each.name for each in tmp_path.iterdir()})

    monkeypatch.setattr(os, "fsync", look)
    write_private(path, "whole")

    assert len(seen[0]) == 1, "the writer's own file alone"
    assert not seen[0] & set(left)
    assert [each.name for each in tmp_path.iterdir()] == ["secrets.env"]
    assert path.read_text() == "whole"


def test_a_failed_write_leaves_the_file_unchanged_and_no_other_file(
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
