"""Files dropped from the page cache and read back into it."""

from __future__ import annotations

import ctypes
import mmap
import os
import tempfile
from pathlib import Path

import pytest

from kafka_pareto.drivers.ingestion import page_cache
from kafka_pareto.errors import LoadStartError

pytestmark = pytest.mark.fast

IN_MEMORY = "/dev/shm"  # noqa: S108 (that it is in memory is what is tested)


def pages_in_memory(file: Path) -> int:
    """Count the pages in memory by mincore(2): reading, even without waiting, fetches the page."""
    with file.open("r+b") as content, mmap.mmap(content.fileno(), 0) as mapped:
        pages = (ctypes.c_ubyte * (len(mapped) // mmap.PAGESIZE))()
        start = ctypes.c_char.from_buffer(mapped)
        failed = ctypes.CDLL(None).mincore(ctypes.byref(start), ctypes.c_size_t(len(mapped)), pages)
        del start  # or the mapping could not be closed
        assert not failed
        return sum(page & 1 for page in pages)


@pytest.mark.usefixtures("real_fsync")
@pytest.mark.skipif(bool(page_cache.fault_here()), reason=page_cache.fault_here())
def test_a_cold_file_is_on_the_disk_alone_and_a_warm_one_in_memory(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_bytes(bytes(16 << 20))

    page_cache.prepare(file, "cold")
    assert pages_in_memory(file) * mmap.PAGESIZE < file.stat().st_size // 16
    page_cache.prepare(file, "warm")
    # Not every page: the kernel may take some back at once.
    assert pages_in_memory(file) * mmap.PAGESIZE > file.stat().st_size * 15 // 16


@pytest.mark.skipif(not os.access(IN_MEMORY, os.W_OK), reason="no folder in memory here")
def test_a_file_system_in_memory_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", IN_MEMORY)

    assert "page cache" in page_cache.fault_here()
    with tempfile.NamedTemporaryFile() as file:
        file.write(bytes(1 << 20))
        file.flush()
        with pytest.raises(LoadStartError, match="page cache"):
            page_cache.prepare(Path(file.name), "cold")
