"""Sample the pipeline's resource use, packets on loopback, and clock steps once a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Self

import psutil

from kafka_pareto.measurement.host_load import cpu_fractions

_LOOK_S = 1.0
_TRIES = 5
_LOOPBACK = "lo"
_MIB = 1 << 20
_MINOR_FAULTS = 7
"""Index of `minflt` in /proc/<pid>/stat after the name, which may contain spaces (proc(5))."""


@dataclass(frozen=True)
class Amounts:
    """Amounts that add up field by field."""

    def __add__(self, other: Self) -> Self:
        """Return the sum of both."""
        return type(self)(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


@dataclass(frozen=True)
class Use(Amounts):
    """Resources used so far."""

    cpu_s: float = 0.0
    read_bytes: int = 0
    written_bytes: int = 0
    minor_faults: int = 0

    def since(self, before: Use) -> Use:
        """Return the use since then."""
        return Use(*(getattr(self, each.name) - getattr(before, each.name) for each in fields(self)))


@dataclass(frozen=True)
class Counted:
    """Counts since the watch began: resources by part, and packets on loopback."""

    seconds: float
    uses: Mapping[str, Use]
    packets: int

    @property
    def cpu_s(self) -> float:
        """Return the CPU time of all parts."""
        return sum(use.cpu_s for use in self.uses.values())


@dataclass(frozen=True)
class Resources(Amounts):
    """Resources that a part holds at one time."""

    memory_bytes: int = 0
    open_files: int = 0
    threads: int = 0


@dataclass(frozen=True)
class Watched:
    """Results of a watch.

    Attributes:
        sending: Counts up to the last answer.
        working: Counts up to the last commit, after which parts only wait.
        whole: Counts up to the end.
        memory_mib: Peak of all parts together.
        clock_step_ms: Largest step of the wall clock against the monotonic clock between two samples.
        steal_fraction: Share of CPU time taken by the hypervisor.
        other_fraction: Share of CPU time used by other processes.
        resources: By part, at the end.
    """

    sending: Counted
    working: Counted
    whole: Counted
    memory_mib: float
    clock_step_ms: float
    steal_fraction: float
    other_fraction: float
    resources: Mapping[str, Resources] = field(default_factory=dict)


def clock_offset_s() -> float:
    """Return the wall clock minus the monotonic clock, from the least disturbed of several readings."""
    tries = []
    for _ in range(_TRIES):
        before_s = time.monotonic()
        now = time.time()
        after_s = time.monotonic()
        tries.append((after_s - before_s, now - (before_s + after_s) / 2))
    return min(tries)[1]


class Watch:
    """Context in which the resource use of parts is sampled.

    Args:
        roots: Return the process id of each running part; called at each sample, since parts may be restarted.
        with_children: Parts whose child processes count; finding these scans all processes.
        clock_offset_s: Replaces the function of this name in tests.
    """

    def __init__(
        self,
        roots: Callable[[], Mapping[str, int]],
        with_children: Collection[str] = (),
        clock_offset_s: Callable[[], float] = clock_offset_s,
    ) -> None:
        self._roots = roots
        self._with_children = with_children
        self._clock_offset_s = clock_offset_s
        self._first: dict[int, Use] = {}
        self._last: dict[int, tuple[str, Use]] = {}
        self._memory = 0
        self._step_s = 0.0
        self._looking = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._began_s, self._packets, self._cpu = time.monotonic(), _packets(), psutil.cpu_times()
        self._offset_s = self._clock_offset_s()
        self._look()
        self._first = {pid: use for pid, (_, use) in self._last.items()}
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def counted(self) -> Counted:
        """Return the counts so far."""
        self._look()
        uses: dict[str, Use] = {}
        with self._looking:
            for pid, (name, use) in self._last.items():
                uses[name] = uses.get(name, Use()) + use.since(self._first.get(pid, Use()))
        return Counted(time.monotonic() - self._began_s, uses, _packets() - self._packets)

    def watched(self, sending: Counted, working: Counted) -> Watched:
        """Return all results so far, with the counts taken at the last answer and at the last commit."""
        whole = self.counted()
        steal, other = cpu_fractions(self._cpu, psutil.cpu_times(), whole.cpu_s)
        return Watched(sending, working, whole, self._memory / _MIB, self._step_s * 1e3, steal, other, self.resources())

    def resources(self) -> dict[str, Resources]:
        """Return what each part holds now; a process of another user does not count."""
        found: dict[str, Resources] = {}
        for name, process in self._processes():
            with suppress(psutil.Error):
                own = Resources(process.memory_info().rss, process.num_fds(), process.num_threads())
                found[name] = found.get(name, Resources()) + own
        return found

    def _run(self) -> None:
        while not self._ended.wait(_LOOK_S):
            self._look()

    def _look(self) -> None:
        with self._looking:
            offset_s = self._clock_offset_s()
            self._step_s = max(self._step_s, abs(offset_s - self._offset_s))
            self._offset_s = offset_s
            memory = 0
            for name, process in self._processes():
                with suppress(psutil.Error, OSError, ValueError):
                    self._last[process.pid] = (name, _use_of(process))
                    memory += process.memory_info().rss
            self._memory = max(self._memory, memory)

    def _processes(self) -> Iterator[tuple[str, psutil.Process]]:
        for name, root in self._roots().items():
            processes = []
            with suppress(psutil.Error):
                processes = [psutil.Process(root)]
                processes += processes[0].children(recursive=True) if name in self._with_children else []
            for process in processes:
                yield name, process


def _use_of(process: psutil.Process) -> Use:
    with process.oneshot():
        times = process.cpu_times()
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        read_bytes = written_bytes = 0
        with suppress(psutil.AccessDenied):  # another user's process
            io = process.io_counters()
            read_bytes, written_bytes = io.read_bytes, io.write_bytes
        return Use(times.user + times.system, read_bytes, written_bytes, int(fields[_MINOR_FAULTS]))


def _packets() -> int:
    counted = psutil.net_io_counters(pernic=True).get(_LOOPBACK)
    return counted.packets_sent if counted else 0
