"""Gives a child process a file that is on no disk: it is gone with this process, even when that is killed with -9."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Self


class MemoryFile:
    """Holds a file in this process's memory. Processes of the same user open it by its path while it is open here."""

    def __init__(self, content: bytes = b"") -> None:
        self._file = os.fdopen(os.memfd_create("kafka-pareto"), "w+b", buffering=0)
        os.fchmod(self._file.fileno(), 0o600)
        self._file.write(content)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def path(self) -> str:
        """Returns where a child of this process finds it."""
        return f"/proc/{os.getpid()}/fd/{self._file.fileno()}"

    def read(self) -> bytes:
        """Returns what it holds now."""
        size = os.fstat(self._file.fileno()).st_size
        return os.pread(self._file.fileno(), size, 0)
