"""Checks that a file and its name are on disk before the write is reported."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.storage.private_file import write_private

pytestmark = pytest.mark.fast


class SyncedPaths(list[str]):
    """Notes what is synced, after it was: its path, and of a folder the names in it."""

    def note(self, handle: int) -> None:
        _fsync(handle)
        path = Path(f"/proc/self/fd/{handle}").readlink()
        names = sorted(each.name for each in path.iterdir()) if path.is_dir() else None
        self.append(path.name if names is None else f"{path.name}: {' '.join(names)}")


_fsync = os.fsync


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> SyncedPaths:
    noted = SyncedPaths()
    monkeypatch.setattr(os, "fsync", noted.note)
    return noted


def test_a_private_file_is_synced_before_it_gets_its_name_and_its_folder_after(
    tmp_path: Path, synced: SyncedPaths
) -> None:
    write_private(tmp_path / "secrets.env", "A=1")
    assert synced[0].startswith(".secrets.env.")
    assert synced[1:] == [f"{tmp_path.name}: secrets.env"]


def test_an_object_is_synced_with_every_folder_that_was_made_for_it(tmp_path: Path, synced: SyncedPaths) -> None:
    store = FolderStore(tmp_path)
    store.put("study/c1/a.json", b"x")
    assert synced[:2] == [f"{tmp_path.name}: study", "study: c1"]
    assert synced[2].startswith(".writing.")
    assert synced[3:] == ["c1: a.json"]
    del synced[:]
    store.put("study/c1/b.json", b"x")
    assert synced[1:] == ["c1: a.json b.json"]
