"""Create a temporary folder for large data, removed on exit or by the next process that creates one."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "kafka-pareto-own-"


@contextmanager
def own_folder() -> Iterator[Path]:
    """Create a private folder in `TMPDIR`, or in the system's default.

    A killed process leaves its folder, possibly gigabytes, but loses its lock; the next process then removes it.
    """
    parent = Path(tempfile.gettempdir())
    _remove_abandoned(parent)
    made = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}", dir=parent))
    handle = os.open(made, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        # Other processes search for the final name only, so the folder is locked before they find it.
        folder = made.rename(parent / made.name.removeprefix("."))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(handle)


def _remove_abandoned(parent: Path) -> None:
    for folder in parent.glob(f"{_PREFIX}*"):
        # Owned by others, already removed, locked by its owner, or not a folder.
        with suppress(OSError):
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(handle).st_uid == os.geteuid():
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)
