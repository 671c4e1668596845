"""Find or make the files that ingestions send, and count and hash their rows."""

from __future__ import annotations

import logging
import shutil
from itertools import islice
from pathlib import Path

from kafka_pareto.drivers.ingestion.load import (
    MOST_ROW_BYTES,
    BooksRequest,
    CheckRequest,
    IngestionLoad,
    most_row_bytes,
)
from kafka_pareto.drivers.ingestion.output import RowsFound
from kafka_pareto.drivers.ingestion.studies import CompareIngestion
from kafka_pareto.errors import PlanError
from kafka_pareto.study.factors import Configuration

log = logging.getLogger(__name__)

_BYTES_PER_BOOK = 100
_TIMEOUT_S = 600.0
_SLOWEST_BYTES_S = 20 << 20
_SAMPLE_BYTES = 1 << 20
_GIB = 1 << 30


class RowsFiles:
    """Keep the files of a study in a folder; each is made, read and hashed once."""

    def __init__(self, study: CompareIngestion, tool: IngestionLoad, folder: Path) -> None:
        self._study = study
        self._tool = tool
        self._folder = folder
        self._held: dict[tuple[Path, str, int], RowsFound] = {}

    def file_of(self, configuration: Configuration) -> Path:
        """Return a level's file; make it if it does not exist.

        Raises:
            PlanError: If the disk has no room for it.
            LoadToolError: If it cannot be written.
        """
        if self._study.workload.file is not None:
            return Path(self._study.workload.file)
        return self.books(self._study.rows(configuration))

    def books(self, rows: int, name: str = "books") -> Path:
        """Return a file of made-up books; a smaller file equals the beginning of a larger one.

        Raises:
            PlanError: If the disk has no room for it.
            LoadToolError: If it cannot be written.
        """
        file = self._folder / f"{name}_{rows}.csv"
        if not file.exists():
            needed_bytes = self._require_room(file, rows)
            log.info("writing %s with %d rows", file, rows)
            self._tool.make_books(BooksRequest(file, rows, self._study.seed, _timeout_s(needed_bytes)))
        return file

    def warmup_file(self, rows: int) -> Path | None:
        """Return the file of this many rows that each process sends first; None for no rows.

        A separate file lets the measured one stay out of the page cache. A user's file is repeated as needed.

        Raises:
            PlanError: If the disk has no room for it.
            LoadToolError: If it cannot be written.
        """
        if not rows:
            return None
        if self._study.workload.file is None:
            return self.books(rows, "warmup")
        file = self._folder / f"warmup_{rows}.csv"
        if not file.exists():
            self._require_room(file, rows)
            _copy_rows(Path(self._study.workload.file), file, rows)
        return file

    def rows_of_level(self, configuration: Configuration) -> RowsFound:
        """Return the count and hashes of a level's file in its encoding, without rows too large for its requests.

        Raises:
            LoadToolError: If it cannot be read, or is not such a CSV file.
        """
        return self.rows_of(
            self.file_of(configuration),
            str(self._study.effective(configuration)["encoding"]),
            most_row_bytes(self._study.properties(configuration)),
        )

    def rows_of(self, file: Path, encoding: str = "bytes", most_bytes: int = MOST_ROW_BYTES) -> RowsFound:
        """Return the file's number of rows and the hashes of their encodings; it is then in the page cache.

        Raises:
            LoadToolError: If it cannot be read, or is not such a CSV file.
        """
        key = file, encoding, most_bytes
        if key not in self._held:
            request = CheckRequest(
                _timeout_s(file.stat().st_size if file.is_file() else 0),
                timeout_key="",
                file=file,
                delimiter=self._study.workload.delimiter,
                encoding=encoding,
                most_row_bytes=most_bytes,
            )
            found = self._tool.check(request).file
            if found is None:
                raise RuntimeError("the check's output lacks the file")
            self._held[key] = found
        return self._held[key]

    def _require_room(self, file: Path, rows: int) -> float:
        """Return the size of a file of this many rows; refuse it if the disk has no room."""
        needed_bytes, free_bytes = rows * row_bytes(self._study), shutil.disk_usage(self._folder).free
        if free_bytes < needed_bytes:
            raise PlanError(
                f"{file}: {rows:,} rows take about {needed_bytes / _GIB:.1f} GiB, but "
                f"{free_bytes / _GIB:.1f} GiB are free; delete files there, or set TMPDIR to another folder"
            )
        return needed_bytes


def row_bytes(study: CompareIngestion) -> float:
    """Return the mean size of a row; for a user's file that of the lines in its first MiB."""
    file = Path(study.workload.file or "")
    if not file.is_file():
        return _BYTES_PER_BOOK
    with file.open("rb") as content:
        begin = content.read(_SAMPLE_BYTES)
    return max(len(begin), 1) / max(begin.count(b"\n"), 1)


def rows_of(study: CompareIngestion, level: Configuration) -> int:
    """Return the number of rows of a level; for a user's file estimated from its size."""
    file = study.workload.file
    if file is None:
        return study.rows(level)
    return int(Path(file).stat().st_size / row_bytes(study)) if Path(file).is_file() else 0


def sent_rows_of(study: CompareIngestion, level: Configuration) -> int:
    """Return the number of rows a repetition of a level sends, each process's warm-up included."""
    return rows_of(study, level) + study.protocol.warmup_rows * int(study.effective(level)["processes"])


def most_rows(study: CompareIngestion, case: str) -> int:
    """Return the number of rows in the largest repetition of a part."""
    return max(sent_rows_of(study, level) for level in study.levels_of(case))


def _timeout_s(file_bytes: float) -> float:
    return max(_TIMEOUT_S, file_bytes / _SLOWEST_BYTES_S)


def _copy_rows(source: Path, target: Path, rows: int) -> None:
    """Write the header and this many lines of a file, starting over after its last line."""
    with source.open("rb") as lines, target.open("wb") as written:
        written.write(lines.readline())
        begin, left = lines.tell(), rows
        while left:
            lines.seek(begin)
            for line in islice(lines, left):
                written.write(line if line.endswith(b"\n") else line + b"\n")
                left -= 1
