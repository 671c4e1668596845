"""Read how busy this machine's cores are, and how often processes hit their cgroup's CPU limit (Linux)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path

import psutil

_PROC = Path("/proc")
_GROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class LimitedPeriods:
    """Scheduling periods of the group, and those in which it was throttled."""

    periods: int
    throttled: int


def read_limited_periods(pids: Iterable[int], proc: Path = _PROC, groups: Path = _GROUPS) -> dict[int, LimitedPeriods]:
    """Read each process's counters; processes without a limit are missing.

    Args:
        pids: The processes.
        proc: The procfs mount.
        groups: The cgroup mount; in a container, its root is the container's own group.
    """
    found: dict[int, LimitedPeriods] = {}
    for pid in pids:
        with suppress(OSError):  # the process has ended
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
    """Return the share of throttled periods of the most throttled process; None if none has a limit."""
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


@dataclass(frozen=True)
class CoreTimes:
    """Busy and total seconds of each core since boot."""

    busy_s: tuple[float, ...]
    total_s: tuple[float, ...]


def read_cores() -> CoreTimes:
    """Read each core's busy time; waiting for a disk counts as idle."""
    cores = psutil.cpu_times(percpu=True)
    waiting = [core.idle + getattr(core, "iowait", 0.0) for core in cores]
    # Guest time is included in user time; adding both would count it twice.
    totals = [sum(core) - getattr(core, "guest", 0.0) - getattr(core, "guest_nice", 0.0) for core in cores]
    busy = tuple(total - idle for total, idle in zip(totals, waiting, strict=True))
    return CoreTimes(busy, tuple(totals))


def busy_fraction(before: CoreTimes, after: CoreTimes) -> float | None:
    """Return the busy share of all cores' time; None if no time passed."""
    total_s = sum(after.total_s) - sum(before.total_s)
    return (sum(after.busy_s) - sum(before.busy_s)) / total_s if total_s > 0 else None


def busiest_core_fraction(samples: Sequence[CoreTimes]) -> float | None:
    """Return the busiest core's share, averaged over the intervals; None for fewer than two samples.

    Intervals with a change in the number of cores are skipped.
    """
    found = []
    same_cores = [(before, after) for before, after in pairwise(samples) if len(before.busy_s) == len(after.busy_s)]
    for before, after in same_cores:
        times = zip(before.busy_s, after.busy_s, before.total_s, after.total_s, strict=True)
        shares = [(busy - busy_0) / (total - total_0) for busy_0, busy, total_0, total in times if total > total_0]
        found += [max(shares)] if shares else []
    return sum(found) / len(found) if found else None
