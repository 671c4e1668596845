"""Read a file that another process appends to, one window after another."""

from __future__ import annotations

from pathlib import Path


class GrowingFile:
    """A text file whose earlier windows are not read again; without `begin_window`, all of it is one window.

    Attributes:
        path: Path of the file, which may not exist yet.
        from_byte: Position at which the window begins.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.from_byte = self._read_until_byte = 0

    def text(self) -> str:
        """Return the lines added since the window began, without a last line that is still being written."""
        content = b""
        if self.path.exists():
            with self.path.open("rb") as file:
                file.seek(self.from_byte)
                content = file.read()
        complete = content[: content.rfind(b"\n") + 1]
        self._read_until_byte = self.from_byte + len(complete)
        return complete.decode(errors="replace")

    def begin_window(self) -> None:
        """Begin a window after the last line that `text` returned."""
        self.from_byte = self._read_until_byte
