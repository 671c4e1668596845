"""The control groups that limit processes: their files, and what is left of them."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from kafka_pareto.drivers.services.cpu_limits import cpu_controller, limited_cores
from kafka_pareto.errors import BadInputError

pytestmark = pytest.mark.fast


def only_group(folder: Path) -> Path:
    (group,) = folder.glob("kafka-pareto-*")
    return group


def written_in(group: Path) -> dict[str, str]:
    return {file.name: file.read_text(encoding="ascii") for file in group.iterdir()}


@pytest.fixture
def version_1(tmp_path: Path) -> Path:
    (tmp_path / "cpu").mkdir()
    return tmp_path


@pytest.fixture
def version_2(tmp_path: Path) -> Path:
    (tmp_path / "cgroup.controllers").write_text("cpu memory", encoding="ascii")
    return tmp_path


def test_a_group_of_version_1_has_period_and_quota_in_a_file_each(version_1: Path) -> None:
    with limited_cores(0.25, [os.getpid()], version_1):
        group = only_group(version_1 / "cpu")
        limited = written_in(group)

    assert limited == {"cpu.cfs_period_us": "20000", "cpu.cfs_quota_us": "5000", "cgroup.procs": str(os.getpid())}
    assert written_in(group)["cpu.cfs_quota_us"] == "-1"


def test_a_group_of_version_2_has_both_in_one(version_2: Path) -> None:
    with limited_cores(1.5, [os.getpid()], version_2, period_us=100_000):
        group = only_group(version_2)
        limited = written_in(group)

    assert limited == {"cpu.max": "150000 100000", "cgroup.procs": str(os.getpid())}
    assert written_in(group)["cpu.max"] == "max 100000"
    assert (version_2 / "cgroup.subtree_control").read_text(encoding="ascii") == "+cpu"


def test_a_process_that_has_ended_is_left_out(version_1: Path) -> None:
    with limited_cores(0.5, [free_pid()], version_1):
        assert "cgroup.procs" not in written_in(only_group(version_1 / "cpu"))


def test_groups_of_a_killed_run_are_removed_and_those_of_a_running_one_stay(version_1: Path) -> None:
    killed, running = (version_1 / "cpu" / f"kafka-pareto-{pid}-abc" for pid in (free_pid(), os.getppid()))
    killed.mkdir()
    running.mkdir()

    cpu_controller(version_1)

    assert list((version_1 / "cpu").iterdir()) == [running]


def test_a_machine_that_takes_no_groups_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"cpus: CPU time cannot be limited here \(.*/cpu/kafka-pareto-\d+"):
        cpu_controller(tmp_path)


def free_pid() -> int:
    """An id that no process has."""
    return next(pid for pid in range(4_000_000, 4_194_304) if not psutil.pid_exists(pid))
