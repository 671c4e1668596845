"""CPU throttling of a process by its container, in both versions of control groups."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafka_pareto.bottleneck.cpu_limit import LimitedPeriods, read_limited_periods, throttled_fraction

pytestmark = pytest.mark.fast

STAT = "nr_periods 40\nnr_throttled 30\nthrottled_{unit} 1234\n"


@pytest.mark.parametrize(
    ("groups_of_process", "file"),
    [
        ("0::/kubepods/pod1\n", "kubepods/pod1/cpu.stat"),
        ("0::/\n", "cpu.stat"),
        ("0::/hidden/by/the/container\n", "cpu.stat"),
        ("3:cpuset:/\n2:cpu,cpuacct:/docker/1\n0::/\n", "cpu,cpuacct/docker/1/cpu.stat"),
        ("1:cpu:/docker/1\n", "cpu/docker/1/cpu.stat"),
        ("1:cpu,cpuacct:/hidden\n", "cpu/cpu.stat"),
    ],
)
def test_the_counters_of_a_processs_group_are_found_in_either_version(
    tmp_path: Path, groups_of_process: str, file: str
) -> None:
    proc, groups = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "7").mkdir(parents=True)
    (proc / "7" / "cgroup").write_text(groups_of_process)
    (groups / file).parent.mkdir(parents=True)
    (groups / file).write_text(STAT)

    assert read_limited_periods([7, 8], proc, groups) == {7: LimitedPeriods(40, 30)}


def test_a_group_without_a_limit_has_no_periods(tmp_path: Path) -> None:
    (tmp_path / "cpu.stat").write_text("usage_usec 5\nnr_periods 0\nnr_throttled 0\n")
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "cgroup").write_text("0::/\n")
    assert read_limited_periods([7], tmp_path, tmp_path) == {}


def test_this_process_can_be_asked_without_an_error_whatever_its_machine_has() -> None:
    found = read_limited_periods([os.getpid()])  # of no process where the machine sets no limit
    assert all(pid == os.getpid() and 0 <= of.throttled <= of.periods for pid, of in found.items())


def test_the_share_is_that_of_the_process_that_had_to_stop_most_often() -> None:
    before = {1: LimitedPeriods(10, 0), 2: LimitedPeriods(10, 0), 3: LimitedPeriods(10, 0)}
    after = {1: LimitedPeriods(30, 15), 2: LimitedPeriods(30, 5), 3: LimitedPeriods(10, 0), 4: LimitedPeriods(9, 9)}
    assert throttled_fraction(before, after) == 0.75
    assert throttled_fraction(before, before) is None
    assert throttled_fraction({}, {}) is None
