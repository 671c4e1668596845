"""Reads pauses from the JVM's log of garbage collections (JEP 271, unified logging)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

# A line with tag gc alone holds the whole pause; lines of its phases carry further tags.
_PAUSE = re.compile(r"^\[([^\]]+)\].*\[gc *\] GC\(\d+\) Pause .* (\d+(?:\.\d+)?)ms$", re.MULTILINE)


@dataclass(frozen=True)
class Pause:
    """Holds one pause: when it ended, in seconds since the epoch, and how long it was."""

    ended_at_s: float
    duration_ms: float


def pauses_in(text: str) -> list[Pause]:
    """Lists the pauses that a log tells of; its lines must begin with the time (decorator `time`)."""
    return [Pause(datetime.fromisoformat(ended).timestamp(), float(ms)) for ended, ms in _PAUSE.findall(text)]


def ends_of(logs: Sequence[Path]) -> dict[Path, int]:
    """Returns the present length of each log, in bytes."""
    return {log: log.stat().st_size for log in logs if log.exists()}


def pauses_since(ends: Mapping[Path, int], logs: Sequence[Path]) -> list[Pause]:
    """Lists the pauses that were logged since `ends_of` was asked; a log that is new is read whole."""
    found = []
    for log in logs:
        with log.open("rb") as file:
            file.seek(ends.get(log, 0))
            found += pauses_in(file.read().decode(errors="replace"))
    return found
