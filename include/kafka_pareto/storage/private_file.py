"""Writes files with secrets. Needs the standard library alone: `.env` is written before anything is installed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

PARTIAL_FILES = ".*.partial"
"""Matches what a killed writer leaves in the folder of its file."""


def write_private(path: Path, text: str) -> None:
    """Writes a file that only its owner may read, whole or not at all, whenever the power fails.

    Several writers may write one file at the same time. Each fills a file of its own, and the last one to rename stays.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")  # mode 600
    partial = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Brings the folder's names to the disk: without that a power cut may undo a rename."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
