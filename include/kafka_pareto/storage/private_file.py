"""Files with secrets. Standard library only: `.env` is written before anything is installed."""

from __future__ import annotations

import fcntl
import glob
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


def write_private(path: Path, text: str) -> None:
    """Write a text as a `private_file`."""
    with private_file(path) as file:
        file.write(text.encode())


@contextmanager
def private_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file to write, for its owner alone; it takes the path's place when the context ends without an error.

    This is atomic even on power failure; the last concurrent writer wins. Raises an OSError that names the path if it
    cannot be written.
    """
    remove_leftovers(path.parent, path.name)
    try:
        handle, partial = locked_partial(path)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
                partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def remove_leftovers(folder: Path, name: str | None = None) -> None:
    """Remove the unfinished files of killed writers: those of the named file, or all in the folder."""
    of_file = "" if name is None else f"{glob.escape(name)}."
    for partial in folder.glob(f".{of_file}*.partial"):
        # Locked: the writer is alive. A leftover that cannot be removed must not prevent a write.
        with suppress(OSError), partial.open("rb") as left:
            fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)
            partial.unlink()


def sync_folder(folder: Path) -> None:
    """Sync a folder's entries to disk; otherwise a power cut may undo a rename."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def locked_partial(path: Path) -> tuple[int, Path]:
    """Create an empty file of mode 600 beside the path, locked until its writer closes it or is killed."""
    while True:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
        fcntl.flock(handle, fcntl.LOCK_EX)
        if Path(name).exists():
            return handle, Path(name)
        os.close(handle)  # another writer mistook it for a leftover before it was locked
