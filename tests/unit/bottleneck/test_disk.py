"""The disk under a folder, by the kernel's counters."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.bottleneck.disk import DiskCounters, disk_statistics, disk_use, read_disk

pytestmark = pytest.mark.fast


def device_of(folder: Path) -> str:
    number = folder.stat().st_dev
    return f"{number >> 8 & 0xFFF}:{number & 0xFF | number >> 12 & 0xFFF00}"


def test_the_counters_add_up_reads_writes_and_flushes(tmp_path: Path) -> None:
    statistics = tmp_path / "stat"
    statistics.write_text("10 0 80 20  30 0 2048 90  0 400 500  0 0 0 0  5 15\n")
    assert read_disk(statistics) == DiskCounters(45, 125, 400, 1 << 20)


def test_an_older_kernel_counts_no_flushes(tmp_path: Path) -> None:
    statistics = tmp_path / "stat"
    statistics.write_text("10 0 80 20 30 0 2048 90 0 400 500\n")
    assert read_disk(statistics) == DiskCounters(40, 110, 400, 1 << 20)
    assert read_disk(tmp_path / "gone") is None


def test_use_is_the_growth_over_the_interval() -> None:
    use = disk_use(DiskCounters(100, 1000, 5000, 0), DiskCounters(150, 1600, 7000, 64 << 20), seconds=4.0)
    assert (use.disk_await_ms, use.disk_busy_fraction, use.disk_write_mib_s) == (12.0, 0.5, 16.0)


def test_a_disk_that_did_nothing_has_no_await() -> None:
    idle = disk_use(DiskCounters(5, 5, 5, 5), DiskCounters(5, 5, 5, 5), seconds=1.0)
    assert (idle.disk_await_ms, idle.disk_busy_fraction, idle.disk_write_mib_s) == (None, 0.0, 0.0)


def test_a_folder_on_a_partition_is_on_its_disk(tmp_path: Path) -> None:
    partition = tmp_path / "sda" / "sda1"
    partition.mkdir(parents=True)
    (partition / "partition").write_text("1\n")
    devices = tmp_path / "devices"
    devices.mkdir()
    (devices / device_of(tmp_path)).symlink_to(partition)
    assert disk_statistics(tmp_path, devices=devices) == tmp_path / "sda" / "stat"


def test_a_folder_without_a_device_has_no_disk(tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text("36 35 0:42 / / rw,noatime - overlay overlay rw,lowerdir=/a\n")
    assert disk_statistics(tmp_path, mounts, devices=tmp_path / "none") is None
