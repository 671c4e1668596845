"""Reads how busy the cores of this machine are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import psutil


@dataclass(frozen=True)
class CoreTimes:
    """Holds the seconds that each core was busy, and that there were, since the machine was started."""

    busy_s: tuple[float, ...]
    total_s: tuple[float, ...]


def read_cores() -> CoreTimes:
    """Reads how long each core was busy; waiting for a disk is not."""
    cores = psutil.cpu_times(percpu=True)
    waiting = [core.idle + getattr(core, "iowait", 0.0) for core in cores]
    # A guest's time is part of user's; the sum of all fields would count it twice.
    totals = [sum(core) - getattr(core, "guest", 0.0) - getattr(core, "guest_nice", 0.0) for core in cores]
    busy = tuple(total - idle for total, idle in zip(totals, waiting, strict=True))
    return CoreTimes(busy, tuple(totals))


def busy_fraction(before: CoreTimes, after: CoreTimes) -> float | None:
    """Returns the share of all cores' time that was busy; None where no time passed."""
    total_s = sum(after.total_s) - sum(before.total_s)
    return (sum(after.busy_s) - sum(before.busy_s)) / total_s if total_s > 0 else None


def busiest_core_fraction(looks: Sequence[CoreTimes]) -> float | None:
    """Returns how busy the busiest core was, as the mean over the spaces between the looks; None for fewer than two.

    A space in which a core came or went is left out.
    """
    found = []
    alike = [(before, after) for before, after in pairwise(looks) if len(before.busy_s) == len(after.busy_s)]
    for before, after in alike:
        times = zip(before.busy_s, after.busy_s, before.total_s, after.total_s, strict=True)
        shares = [(busy - busy_0) / (total - total_0) for busy_0, busy, total_0, total in times if total > total_0]
        found += [max(shares)] if shares else []
    return sum(found) / len(found) if found else None
