"""Counts once a second what the pipeline's processes use, what goes over loopback, and whether the clock was set."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

_LOOK_S = 1.0
_LOOPBACK = "lo"
_MIB = 1 << 20
_MINOR_FAULTS = 7
"""The place of `minflt` in /proc/<pid>/stat, counted from after the name, which may hold blanks (proc(5))."""


@dataclass(frozen=True)
class Use:
    """Holds what processes have used so far."""

    cpu_s: float = 0.0
    read_bytes: int = 0
    written_bytes: int = 0
    minor_faults: int = 0

    def since(self, before: Use) -> Use:
        """Returns what was used since."""
        return Use(*(getattr(self, name) - getattr(before, name) for name in self.__dataclass_fields__))

    def __add__(self, other: Use) -> Use:
        """Returns what both have used."""
        return Use(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))


@dataclass
class Watched:
    """Holds what was counted.

    Attributes:
        seconds: How long.
        uses: By part.
        packets: That loopback carried.
        memory_mib: The most that all parts together had at one time.
        clock_step_ms: The largest step of the clock against the monotonic one from one look to the next.
    """

    seconds: float = 0.0
    uses: dict[str, Use] = field(default_factory=dict)
    packets: int = 0
    memory_mib: float = 0.0
    clock_step_ms: float = 0.0


class Watch:
    """Opens a context in which parts are counted; a part's children are counted with it.

    Args:
        roots: Returns the process of each part that runs, by the part's name; asked again at each look, since one may
            be started anew.
    """

    def __init__(self, roots: Callable[[], Mapping[str, int]]) -> None:
        self.found = Watched()
        self._roots = roots
        self._first: dict[int, Use] = {}
        self._last: dict[int, tuple[str, Use]] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._began_s, self._packets = time.monotonic(), _packets()
        self._offset_s = time.time() - time.monotonic()
        self._look(is_first=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._look()
        self.found.seconds = time.monotonic() - self._began_s
        self.found.packets = _packets() - self._packets
        for pid, (name, use) in self._last.items():
            known = self.found.uses.get(name, Use())
            self.found.uses[name] = known + use.since(self._first.get(pid, Use()))

    def _run(self) -> None:
        while not self._ended.wait(_LOOK_S):
            self._look()

    def _look(self, *, is_first: bool = False) -> None:
        offset_s = time.time() - time.monotonic()
        step_ms = abs(offset_s - self._offset_s) * 1e3
        self.found.clock_step_ms = max(self.found.clock_step_ms, step_ms)
        self._offset_s = offset_s
        memory = 0
        for name, root in self._roots().items():
            for process in _with_children(root):
                with suppress(psutil.Error, OSError, ValueError):
                    use = _use_of(process)
                    memory += process.memory_info().rss
                    self._last[process.pid] = (name, use)
                    if is_first:
                        self._first[process.pid] = use
        self.found.memory_mib = max(self.found.memory_mib, memory / _MIB)


def _with_children(root: int) -> list[psutil.Process]:
    try:
        process = psutil.Process(root)
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []


def _use_of(process: psutil.Process) -> Use:
    with process.oneshot():
        times = process.cpu_times()
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        use = Use(cpu_s=times.user + times.system, minor_faults=int(fields[_MINOR_FAULTS]))
        try:
            io = process.io_counters()
        except psutil.Error:  # of a process that is another user's
            return use
        return replace(use, read_bytes=io.read_bytes, written_bytes=io.write_bytes)


def _packets() -> int:
    counted = psutil.net_io_counters(pernic=True).get(_LOOPBACK)
    return counted.packets_sent if counted else 0
