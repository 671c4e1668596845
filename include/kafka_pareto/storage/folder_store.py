"""Object store in a local folder."""

from __future__ import annotations

import fcntl
import glob
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from kafka_pareto.errors import BadInputError, MissingArtifactError, StoreError
from kafka_pareto.storage.private_file import locked_partial, remove_leftovers, sync_folder

_WRITING = "writing"


class FolderStore:
    """Objects as files. Keys are paths below the folder; a key must not begin with a dot.

    Opening the store removes the unfinished files of killed writers.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        with self._errors("create the folder"):
            self._folder.mkdir(parents=True, exist_ok=True)
        remove_leftovers(self._folder, _WRITING)

    def put(self, key: str, content: bytes) -> None:
        """Write and sync a temporary file, move it over the object, and sync its folder."""
        path = self._path(key)
        with self._errors(f"write {key}"):
            self._make_folder(path.parent)
            handle, temporary = locked_partial(self._folder / _WRITING)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                    temporary.replace(path)
                sync_folder(path.parent)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise

    def get(self, key: str) -> bytes:
        """Read the file; raises MissingArtifactError if there is none."""
        with self._errors(f"read {key}"):
            try:
                return self._path(key).read_bytes()
            except FileNotFoundError as error:
                raise MissingArtifactError(f"{key}: is not in the store") from error

    def keys(self, prefix: str) -> list[str]:
        """List the keys with this prefix, sorted, without unfinished files."""
        folder, _, start = prefix.rpartition("/")
        tops = self._path(folder).glob(f"{glob.escape(start)}*")  # skip other folders
        files = (file for top in tops for file in ([str(top)] if top.is_file() else _files_below(top)))
        above = len(f"{self._folder}/")
        return sorted(key for file in files if not (key := file[above:]).startswith("."))

    def written_at(self, prefix: str) -> dict[str, datetime]:
        """Map each key with this prefix to its file's modification time."""
        found = {}
        for key in self.keys(prefix):
            with suppress(FileNotFoundError):  # deleted in the meantime
                found[key] = datetime.fromtimestamp((self._folder / key).stat().st_mtime, UTC)
        return found

    def folders(self, prefix: str) -> list[str]:
        """List the folders directly below the prefix that hold a file at any depth, sorted."""
        above, _, start = prefix.rpartition("/")
        found = self._path(above).glob(f"{glob.escape(start)}*")
        # Deleted objects leave empty folders.
        holding = [path.name for path in found if any(each.is_file() for each in path.rglob("*"))]
        return sorted(name.removeprefix(start) for name in holding)

    def delete(self, key: str) -> None:
        """Delete the file, if it exists."""
        with self._errors(f"delete {key}"):
            self._path(key).unlink(missing_ok=True)

    def tag(self, key: str) -> str | None:
        """Return the content's SHA-256; None if there is no file."""
        try:
            return hashlib.sha256(self.get(key)).hexdigest()
        except MissingArtifactError:
            return None

    def put_if(self, key: str, content: bytes, tag: str | None) -> str | None:
        """Write if the content's SHA-256 is still `tag`, under a lock on the whole folder."""
        with self._errors(f"write {key}"), (self._folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self.tag(key) != tag:
                return None
            self.put(key, content)
        return hashlib.sha256(content).hexdigest()

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(f"the store at {self._folder} cannot {doing}: {error.strerror}") from error

    def _make_folder(self, folder: Path) -> None:
        """Create the folder and its missing parents, and sync each name to disk before a file is written in it."""
        if folder.is_dir():
            return
        self._make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)

    def _path(self, key: str) -> Path:
        path = (self._folder / key).resolve()
        if not path.is_relative_to(self._folder):
            raise BadInputError(f"key {key!r} is outside the store")
        return path


def _files_below(folder: Path) -> Iterator[str]:
    for above, _, names in os.walk(folder):
        for name in names:
            yield f"{above}/{name}"
