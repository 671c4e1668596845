"""Limit the CPU time of running processes by control groups (Linux, version 1 or 2)."""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from kafka_pareto.errors import BadInputError

_GROUPS = Path("/sys/fs/cgroup")
_PREFIX = "kafka-pareto-"
# A throttled process waits for its next period; 100 ms, the usual value, would be most of a request's latency.
_PERIOD_US = 20_000


@dataclass(frozen=True)
class CpuController:
    """The folder of the groups' CPU controller."""

    folder: Path
    is_version_2: bool

    def limit(self, group: Path, cores: float | None, period_us: int) -> None:
        """Limit a group to this many cores; None removes the limit."""
        quota_us = None if cores is None else round(cores * period_us)
        if self.is_version_2:
            text = f"max {period_us}" if quota_us is None else f"{quota_us} {period_us}"
            (group / "cpu.max").write_text(text, encoding="ascii")
        else:
            (group / "cpu.cfs_period_us").write_text(str(period_us), encoding="ascii")
            (group / "cpu.cfs_quota_us").write_text(str(-1 if quota_us is None else quota_us), encoding="ascii")

    def group_of(self, pid: int) -> Path:
        """Return a process's current control group.

        Raises:
            OSError: If the process has ended.
        """
        for line in Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8").splitlines():
            number, controllers, path = line.split(":", 2)
            if number == "0" if self.is_version_2 else "cpu" in controllers.split(","):
                return self.folder / path.lstrip("/")
        return self.folder


def cpu_controller(groups: Path = _GROUPS) -> CpuController:
    """Return the controller, once it is known to take groups; remove what a killed run left.

    Raises:
        BadInputError: If this user may not add groups, or there is no CPU controller.
    """
    is_version_2 = (groups / "cgroup.controllers").exists()
    controller = CpuController(groups if is_version_2 else groups / "cpu", is_version_2)
    with _refusal_as_bad_input():
        for left in controller.folder.glob(f"{_PREFIX}*"):
            owner = left.name.removeprefix(_PREFIX).partition("-")[0]
            if owner.isdigit() and not psutil.pid_exists(int(owner)):
                with suppress(OSError):  # it still has processes
                    left.rmdir()
        if is_version_2:
            (groups / "cgroup.subtree_control").write_text("+cpu", encoding="ascii")
        _new_group(controller).rmdir()
    return controller


@contextmanager
def limited_cores(
    cores: float, pids: Collection[int], groups: Path = _GROUPS, *, period_us: int = _PERIOD_US
) -> Iterator[None]:
    """Limit these processes, together, to this many cores; they may end before the context does.

    Raises:
        BadInputError: On entering, if this user may not limit CPU time.
    """
    controller = cpu_controller(groups)
    with _refusal_as_bad_input():
        group = _new_group(controller)
    origins: dict[int, Path] = {}
    try:
        with _refusal_as_bad_input():
            controller.limit(group, cores, period_us)
            for pid in pids:
                with suppress(ProcessLookupError, FileNotFoundError):  # it has just ended, which its owner notices
                    origins[pid] = controller.group_of(pid)
                    (group / "cgroup.procs").write_text(str(pid), encoding="ascii")
        yield
    finally:
        with suppress(OSError):  # of processes that stay in the group
            controller.limit(group, None, period_us)
        for pid, origin in origins.items():
            with suppress(OSError):  # it has ended
                (origin / "cgroup.procs").write_text(str(pid), encoding="ascii")
        with suppress(OSError):  # last threads are ending; a later run removes the group
            group.rmdir()


def _new_group(controller: CpuController) -> Path:
    group = controller.folder / f"{_PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
    group.mkdir()
    return group


@contextmanager
def _refusal_as_bad_input() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BadInputError(
            f"cpus: CPU time cannot be limited here ({error.filename}: {error.strerror}); run as root, or leave out "
            "the study's cpus"
        ) from error
