"""Limit the CPU time of running processes, each in a control group of its own (Linux, version 1 or 2)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from kafka_pareto.brokers.processes import Opened
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

    def limit(self, group: Path, cores: float) -> None:
        """Limit a group to so many cores."""
        quota_us = round(cores * _PERIOD_US)
        if self.is_version_2:
            (group / "cpu.max").write_text(f"{quota_us} {_PERIOD_US}", encoding="ascii")
        else:
            (group / "cpu.cfs_period_us").write_text(str(_PERIOD_US), encoding="ascii")
            (group / "cpu.cfs_quota_us").write_text(str(quota_us), encoding="ascii")


def cpu_controller(groups: Path = _GROUPS) -> CpuController:
    """Return the controller, once it is known to take groups.

    Raises:
        BadInputError: If this user may not add groups, or there is no CPU controller.
    """
    is_version_2 = (groups / "cgroup.controllers").exists()
    folder = groups if is_version_2 else groups / "cpu"
    try:
        for left in folder.glob(f"{_PREFIX}*"):  # of a run that was killed
            with suppress(OSError):  # it still has processes
                left.rmdir()
        if is_version_2:
            (groups / "cgroup.subtree_control").write_text("+cpu", encoding="ascii")
        tried = folder / f"{_PREFIX}tried"
        tried.mkdir()
        tried.rmdir()
    except OSError as error:
        raise BadInputError(
            f"cpus: this user may not limit CPU time here ({error.filename}: {error.strerror}); run as root, or leave "
            "out the study's cpus"
        ) from error
    return CpuController(folder, is_version_2)


class CpuLimits(Opened):
    """A context in which each process may use so many cores; processes may end before it.

    Args:
        cores: By process ID. Without any, control groups are not touched.

    Raises:
        BadInputError: On entering, if this user may not limit CPU time.
    """

    def __init__(self, cores: Mapping[int, float], groups: Path = _GROUPS) -> None:
        self._cores = cores
        self._groups = groups

    def _open(self, opened: ExitStack) -> None:
        if not self._cores:
            return
        controller = cpu_controller(self._groups)
        for pid, cores in self._cores.items():
            group = controller.folder / f"{_PREFIX}{pid}"
            group.mkdir()
            opened.callback(_remove, group, pid, controller.folder)
            controller.limit(group, cores)
            with suppress(ProcessLookupError):  # it has just ended, which its owner notices
                (group / "cgroup.procs").write_text(str(pid), encoding="ascii")


def _remove(group: Path, pid: int, parent: Path) -> None:
    with suppress(OSError):  # the process has ended
        (parent / "cgroup.procs").write_text(str(pid), encoding="ascii")
    with suppress(OSError):  # its last threads are ending; the next run removes the group
        group.rmdir()
