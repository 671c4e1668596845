"""Tells of processes, for any test that has ended some."""

from __future__ import annotations

import psutil


def has_ended(process: psutil.Process) -> bool:
    """Returns whether it is gone, or is a zombie that only its parent has not yet taken note of."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
