"""Load a file into the operating system's page cache, or evict it, and report whether that is possible here."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from kafka_pareto.errors import LoadStartError

_PROBE_BYTES = 1 << 20
_READ_BYTES = 1 << 20
_PLACES_LOOKED_AT = 64


def prepare(file: Path, state: str) -> None:
    """Bring a file into a page cache state: `warm` (all in memory) or `cold` (nothing in memory).

    Raises:
        LoadStartError: If the file system does not evict it, such as an in-memory one.
    """
    with file.open("rb", buffering=0) as content:
        if state == "warm":
            while content.read(_READ_BYTES):
                pass
            return
        try:
            os.fsync(content.fileno())  # dirty pages cannot be dropped
            os.posix_fadvise(content.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            stays = _is_in_memory(content.fileno())
            os.posix_fadvise(content.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)  # Linux 6.18 fetches sampled pages
        except OSError as error:
            raise LoadStartError(f"{file}: cannot be evicted from the page cache: {error.strerror}") from error
        if stays:
            raise LoadStartError(f"{file}: cannot be evicted from the page cache")


def fault_here() -> str:
    """Return why no file in the folder of temporary files can be made cold; empty if one can."""
    with tempfile.NamedTemporaryFile(prefix="kafka-pareto-cold-") as probe:
        probe.write(bytes(_PROBE_BYTES))
        probe.flush()
        try:
            prepare(Path(probe.name), "cold")
        except LoadStartError as error:
            return f"{error}; set TMPDIR to a folder on a disk"
    return ""


def _is_in_memory(descriptor: int) -> bool:
    """Return whether more than half of the sampled places can be read without the disk."""
    size = os.fstat(descriptor).st_size
    held = 0
    for number in range(_PLACES_LOOKED_AT):
        try:
            held += os.preadv(descriptor, [bytearray(1)], number * size // _PLACES_LOOKED_AT, os.RWF_NOWAIT)
        except BlockingIOError:
            continue
    return held > _PLACES_LOOKED_AT // 2
