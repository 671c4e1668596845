"""Processes that tests start, and must end."""

from __future__ import annotations

import subprocess


def end_process(process: subprocess.Popen[bytes], within_s: float) -> None:
    """Shuts a process down in order, and kills it when it takes too long."""
    process.terminate()
    try:
        process.wait(within_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
