"""Read the kernel's counters of a folder's disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_SECTOR_BYTES = 512  # unit of the kernel's statistics, independent of the disk's sectors
_MIB = 1 << 20
_MOUNTS = Path("/proc/self/mountinfo")
_DEVICES = Path("/sys/dev/block")
_IO_PRESSURE = Path("/proc/pressure/io")
_US_PER_S = 1e6


@dataclass(frozen=True)
class DiskCounters:
    """A disk's counters since boot.

    Attributes:
        operations: Completed reads, writes and flushes.
        operations_ms: Their total time, queueing included.
        busy_ms: Time with any operation pending.
    """

    operations: int
    operations_ms: int
    busy_ms: int
    written_bytes: int


@dataclass(frozen=True)
class DiskUse:
    """A disk's work in an interval, named as in `LoadCounters`; `disk_await_ms` is None without operations."""

    disk_await_ms: float | None = None
    disk_busy_fraction: float | None = None
    disk_write_mib_s: float | None = None


def disk_statistics(folder: Path, mounts: Path = _MOUNTS, devices: Path = _DEVICES) -> Path | None:
    """Return the statistics file of the folder's disk; None without a local disk.

    The file is for the whole disk, which partitions share. Folders in memory, on a network or in a container's layers
    have no device.

    Args:
        folder: The folder; it must exist.
        mounts: The kernel's list of mounts, for file systems with virtual device numbers (Btrfs).
        devices: The kernel's block devices by number.
    """
    folder = folder.resolve()
    numbers = [folder.stat().st_dev]
    source = _mounted_from(folder, mounts)
    if source and source.is_block_device():
        numbers.append(source.stat().st_rdev)
    for number in numbers:
        device = devices / f"{number >> 8 & 0xFFF}:{number & 0xFF | number >> 12 & 0xFFF00}"
        if device.exists():
            real = device.resolve()
            return (real.parent if (real / "partition").exists() else real) / "stat"
    return None


def read_disk(statistics: Path) -> DiskCounters | None:
    """Read the counters; None if the disk is gone.

    The fields are those of the kernel's Documentation/block/stat.rst. Flushes are counted since Linux 5.5.
    """
    try:
        fields = [int(field) for field in statistics.read_text(encoding="ascii").split()]
    except OSError:
        return None
    fields += [0] * (17 - len(fields))
    return DiskCounters(
        operations=fields[0] + fields[4] + fields[15],
        operations_ms=fields[3] + fields[7] + fields[16],
        busy_ms=fields[9],
        written_bytes=fields[6] * _SECTOR_BYTES,
    )


def read_io_stall_s() -> float | None:
    """Return the time all tasks waited for a disk (PSI, `full`); None if the kernel does not count it."""
    try:
        lines = _IO_PRESSURE.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    full = next((line for line in lines if line.startswith("full ")), None)
    return int(full.rpartition("total=")[2]) / _US_PER_S if full else None


def disk_use(before: DiskCounters | None, after: DiskCounters | None, seconds: float) -> DiskUse:
    """Return the disk's work between two readings; all None without both."""
    if before is None or after is None:
        return DiskUse()
    operations = after.operations - before.operations
    return DiskUse(
        disk_await_ms=(after.operations_ms - before.operations_ms) / operations if operations else None,
        disk_busy_fraction=min((after.busy_ms - before.busy_ms) / 1000 / seconds, 1.0),
        disk_write_mib_s=(after.written_bytes - before.written_bytes) / _MIB / seconds,
    )


def _mounted_from(folder: Path, mounts: Path) -> Path | None:
    """Return the device file of the folder's file system; None if it has none."""
    found: dict[Path, str] = {}
    for line in mounts.read_text(encoding="utf-8").splitlines():
        place, _, described = line.partition(" - ")
        found[Path(place.split()[4].replace("\\040", " "))] = described.split()[1]
    source = next((found[parent] for parent in [folder, *folder.parents] if parent in found), "")
    return Path(source) if source.startswith("/") else None
