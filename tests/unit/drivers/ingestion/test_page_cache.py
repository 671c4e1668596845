"""Drops a file from the page cache, and reads it back into it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from kafka_pareto.drivers.ingestion import page_cache
from kafka_pareto.errors import LoadStartError

pytestmark = pytest.mark.fast

IN_MEMORY = "/dev/shm"  # noqa: S108 (that it is in memory is what is tested)


def blocks_held(file: Path) -> int:
    """Returns of how many blocks of 64 KiB the first byte is read without the disk."""
    descriptor, held = os.open(file, os.O_RDONLY), 0
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)  # or looking at one has the kernel read the next ones
        for offset in range(0, os.fstat(descriptor).st_size, 1 << 16):
            try:
                held += os.preadv(descriptor, [bytearray(1)], offset, os.RWF_NOWAIT)
            except BlockingIOError:
                continue
    finally:
        os.close(descriptor)
    return held


@pytest.mark.skipif(bool(page_cache.fault_here()), reason=page_cache.fault_here())
def test_a_cold_file_is_on_the_disk_alone_and_a_warm_one_in_memory(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_bytes(bytes(16 << 20))

    page_cache.prepare(file, "cold")
    assert blocks_held(file) < 16
    page_cache.prepare(file, "warm")
    assert blocks_held(file) == 256


@pytest.mark.skipif(not os.access(IN_MEMORY, os.W_OK), reason="no folder in memory here")
def test_a_file_system_in_memory_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", IN_MEMORY)

    assert "page cache" in page_cache.fault_here()
    with tempfile.NamedTemporaryFile() as file:
        file.write(bytes(1 << 20))
        file.flush()
        with pytest.raises(LoadStartError, match="page cache"):
            page_cache.prepare(Path(file.name), "cold")
