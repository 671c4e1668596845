"""The fingerprint: the system and the client's machine when a campaign began to measure."""

from __future__ import annotations

import math
import os
import platform
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import psutil

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Fingerprint
from kafka_pareto.errors import BadInputError, MissingArtifactError


def keep_fingerprint(campaign: Campaign, case: str, found: Fingerprint) -> None:
    """Store the fingerprint at the start of a case; later attempts must find the same system.

    Raises:
        BadInputError: If it is another system now, by its driver's criteria.
    """
    key = campaign.keys.fingerprint(case)
    try:
        known = campaign.read_record(key, Fingerprint)
    except MissingArtifactError:
        campaign.write_record(key, found)
        return
    for name in campaign.study.declaration.identity:
        before, now = known.system.get(name), found.system.get(name)
        if before != now:
            raise BadInputError(
                f"{key}: {name}: the campaign started on {before}, but this is {now}; start a new campaign, "
                "since measurements of different systems cannot be combined"
            )


@dataclass(frozen=True)
class MemoryFiles:
    """Files of a control group's memory in bytes: its limit, its use, and the part of that which can be reclaimed."""

    limit: Path
    used: Path
    statistics: Path
    reclaimable: str


@dataclass(frozen=True)
class Container:
    """Files that reveal a container: Docker's marker, and the limits of CPU and memory.

    Quota and period are in one file, or in two in cgroups v1; memory is in other files there.
    """

    docker_mark: Path = Path("/.dockerenv")
    cpu_limit: Path = Path("/sys/fs/cgroup/cpu.max")
    older_cpu_limit: tuple[Path, Path] = (
        Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"),
        Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us"),
    )
    memory: tuple[MemoryFiles, ...] = (
        MemoryFiles(
            Path("/sys/fs/cgroup/memory.max"),
            Path("/sys/fs/cgroup/memory.current"),
            Path("/sys/fs/cgroup/memory.stat"),
            "inactive_file",
        ),
        MemoryFiles(
            Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
            Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
            Path("/sys/fs/cgroup/memory/memory.stat"),
            "total_inactive_file",
        ),
    )


CONTAINER = Container()


class ClientMachine(TypedDict):
    """The machine of this process, as a fingerprint names it."""

    client_host: str
    client_cpu: str
    client_cores: int
    client_kernel: str


def client_machine(container: Container = CONTAINER) -> ClientMachine:
    """Return the machine of this process, with its usable cores, rounded up to one."""
    return {
        "client_host": socket.gethostname(),
        "client_cpu": _cpu_model(),
        "client_cores": math.ceil(usable_cores(container)),
        "client_kernel": platform.release(),
    }


def usable_cores(container: Container = CONTAINER) -> float:
    """Return the cores this process may use: its CPU affinity, or its container's limit."""
    cores = float(len(os.sched_getaffinity(0)))
    for files in ((container.cpu_limit,), container.older_cpu_limit):
        with suppress(OSError, ValueError):  # there is no such file, or it reads `max`
            quota_us, period_us = (int(each) for file in files for each in file.read_text(encoding="ascii").split())
            if quota_us > 0:  # the older version's -1 is no limit
                cores = min(cores, quota_us / period_us)
    return cores


def free_memory_bytes(container: Container = CONTAINER) -> int:
    """Return the memory this process may still use: the machine's, or what its container's limit leaves."""
    free_bytes = psutil.virtual_memory().available
    for files in container.memory:
        with suppress(OSError, ValueError, KeyError):  # there is no such file, or it reads `max`
            lines = files.statistics.read_text(encoding="ascii").splitlines()
            reclaimable = int(dict(line.split(maxsplit=1) for line in lines)[files.reclaimable])
            limit, used = (int(file.read_text(encoding="ascii")) for file in (files.limit, files.used))
            free_bytes = min(free_bytes, max(limit - used + reclaimable, 0))
    return free_bytes


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
