"""Make a temporary folder for what is large, which is removed at the end, or by the next process that makes one."""

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
    """Make a folder for this process alone, in `TMPDIR` or where the system has its temporary files.

    A process that is killed leaves its folder behind, perhaps gigabytes. Its lock on the folder ends with it. The next
    process finds the folder unlocked and removes it.
    """
    parent = Path(tempfile.gettempdir())
    _remove_abandoned(parent)
    made = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}", dir=parent))
    handle = os.open(made, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        # Others look only for folders with the final name, so a folder is always locked before they can find it.
        folder = made.rename(parent / made.name.removeprefix("."))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(handle)


def _remove_abandoned(parent: Path) -> None:
    for folder in parent.glob(f"{_PREFIX}*"):
        # Not ours, removed meanwhile, locked by its owner, or no folder at all: all the same reason to leave it.
        with suppress(OSError):
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(handle).st_uid == os.geteuid():
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)
