"""Processes that tests start, and must end, and those that must end by themselves."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress

import psutil


def end_process(process: subprocess.Popen[bytes], within_s: float) -> None:
    """Shuts a process down in order, and kills it when it takes too long."""
    process.terminate()
    try:
        process.wait(within_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def command_lines(processes: Sequence[psutil.Process]) -> list[str]:
    """Returns the command lines of those that run."""
    found = []
    for each in processes:
        with suppress(psutil.NoSuchProcess):
            if each.is_running() and each.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(each.cmdline()))
    return found


def left_after(processes: Sequence[psutil.Process], within_s: float) -> list[str]:
    """Waits until all have ended, and returns the command lines of those that have not in time."""
    deadline = time.monotonic() + within_s
    while (left := command_lines(processes)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left
