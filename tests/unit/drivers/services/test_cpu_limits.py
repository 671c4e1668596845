"""The control groups that limit processes: their files, and what is left of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.drivers.services.cpu_limits import CpuLimits, cpu_controller
from kafka_pareto.errors import BadInputError

pytestmark = pytest.mark.fast


def test_a_group_of_version_1_has_period_and_quota_in_a_file_each(tmp_path: Path) -> None:
    (tmp_path / "cpu").mkdir()

    with CpuLimits({4711: 0.25}, tmp_path):
        group = tmp_path / "cpu" / "kafka-pareto-4711"
        written = {file.name: file.read_text(encoding="ascii") for file in group.iterdir()}

    assert written == {"cpu.cfs_period_us": "20000", "cpu.cfs_quota_us": "5000", "cgroup.procs": "4711"}
    assert (tmp_path / "cpu" / "cgroup.procs").read_text(encoding="ascii") == "4711"  # moved back


def test_a_group_of_version_2_has_both_in_one(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpu memory", encoding="ascii")

    with CpuLimits({4711: 1.5}, tmp_path):
        group = tmp_path / "kafka-pareto-4711"
        written = {file.name: file.read_text(encoding="ascii") for file in group.iterdir()}

    assert written == {"cpu.max": "30000 20000", "cgroup.procs": "4711"}
    assert (tmp_path / "cgroup.subtree_control").read_text(encoding="ascii") == "+cpu"


def test_empty_groups_of_a_killed_run_are_removed(tmp_path: Path) -> None:
    (tmp_path / "cpu" / "kafka-pareto-12").mkdir(parents=True)

    cpu_controller(tmp_path)

    assert not list((tmp_path / "cpu").iterdir())


def test_without_limits_no_group_is_touched(tmp_path: Path) -> None:
    with CpuLimits({}, tmp_path / "absent"):
        pass


def test_a_machine_that_takes_no_groups_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"cpus: this user may not limit CPU time here \(.*/cpu/kafka-pareto-tried"):
        cpu_controller(tmp_path)
