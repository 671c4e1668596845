"""Reads how often a process ran into the CPU limit of its control group, as a container's is (Linux, both versions)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path

_PROC = Path("/proc")
_GROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class LimitedPeriods:
    """Counts the periods in which the group ran, and those of them in which it had to stop."""

    periods: int
    throttled: int


def read_limited_periods(pids: Iterable[int], proc: Path = _PROC, groups: Path = _GROUPS) -> dict[int, LimitedPeriods]:
    """Reads each process's counters; none of one that has no limit.

    Args:
        pids: The processes.
        proc: Where procfs is.
        groups: Where control groups are mounted. In a container its own group is the root there.
    """
    found: dict[int, LimitedPeriods] = {}
    for pid in pids:
        with suppress(OSError):  # ended in between
            for line in (proc / str(pid) / "cgroup").read_text(encoding="utf-8").splitlines():
                _, controllers, path = line.split(":", 2)
                if not controllers or "cpu" in controllers.split(","):
                    mounts = (controllers, "cpu") if controllers else ("", "unified")
                    folders = (groups / mount / of.lstrip("/") for mount, of in product(mounts, (path, "/")))
                    counted = next(filter(None, (_counted(folder / "cpu.stat") for folder in folders)), None)
                    if counted:
                        found[pid] = counted
    return found


def throttled_fraction(before: Mapping[int, LimitedPeriods], after: Mapping[int, LimitedPeriods]) -> float | None:
    """Returns the share of periods in which the process that did so most had to stop; None where none has a limit."""
    shares = [
        (later.throttled - before[pid].throttled) / (later.periods - before[pid].periods)
        for pid, later in after.items()
        if pid in before and later.periods > before[pid].periods
    ]
    return max(shares, default=None)


def _counted(file: Path) -> LimitedPeriods | None:
    try:
        values = dict(line.split() for line in file.read_text(encoding="ascii").splitlines())
        found = LimitedPeriods(int(values["nr_periods"]), int(values["nr_throttled"]))
    except (OSError, KeyError):
        return None
    return found if found.periods else None
