"""Convert real-world CSV files to one plain file: UTF-8, uncompressed, with line feeds and a header.

A file that is plain already is used as it is. Any other is written once to a file without a name, which disappears with
this process, whatever ends it.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import math
import os
import re
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, Literal, cast

from kafka_pareto.analysis.wording import counted
from kafka_pareto.errors import BadInputError

STANDARD_INPUT = Path("-")
DELIMITERS = ",;\t|"
"""Delimiters that are detected; the first is the default."""
Encoding = Literal["utf-8", "latin-1", "cp1252", "utf-16", "utf-32"]

_HEAD_BYTES = 64 << 10
_CHUNK_BYTES = 1 << 20
_PROBED_ROWS = 100
_LARGEST_HEADER = 1 << 20
_SEPARATOR_LINE = re.compile(r'"?sep=(?P<delimiter>[\t\x20\x21\x23-\x7e])"?\r?\n', re.IGNORECASE)
_LONE_RETURN = re.compile(r"\r(?!\n)")
_UTF8_MARK = "\ufeff"
# UTF-32's mark in little-endian order begins like UTF-16's.
_WIDE: dict[bytes, Encoding] = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}


@dataclass(frozen=True)
class PlainCsv:
    """A plain file, and what was found.

    Attributes:
        path: The user's own file, or a converted copy.
        encoding: How its rows become values, for the ingestion tool.
        delimiter: As given, in the file's line `sep=`, or detected.
        notes: What was detected or converted, in words.
    """

    path: Path
    encoding: str
    delimiter: str
    notes: tuple[str, ...]


@contextmanager
def plain_csv(
    source: Path,
    encoding: Encoding,
    delimiter: str | None,
    folder: Path,
    most_bytes: float = math.inf,
    *,
    has_header: bool = True,
    as_utf8: bool = False,
) -> Iterator[PlainCsv]:
    """Open the source as one plain file.

    Args:
        source: A file, a folder or a pattern (all its files, in the order of their names), or `-` for standard input.
        encoding: Of the files; a mark of UTF-16 or UTF-32 takes precedence.
        delimiter: None to detect it.
        folder: For a converted copy.
        most_bytes: Limit of the converted copy.
        has_header: Whether each file begins with a header; else one is made, `column_1` and so on.
        as_utf8: Convert ISO 8859-1 files too; otherwise the ingestion tool converts their rows.

    Raises:
        BadInputError: If a file is missing, unreadable, empty, not in its encoding, or has another header, or the copy
            is too large.
    """
    with ExitStack() as opened:
        try:
            found = _opened(opened, source, encoding, delimiter, folder, most_bytes, has_header, as_utf8)
        except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
            raise BadInputError(f"{source}: cannot be read or converted: {error}") from error
        yield found


def size_if_plain(source: Path, encoding: Encoding) -> int | None:
    """Return a file's size in bytes; None if it must be converted first, or is not a single file.

    Raises:
        BadInputError: If it is missing, cannot be read, or is an archive.
    """
    if source == STANDARD_INPUT:
        return None
    try:
        files, _ = _files_of(source)
        with ExitStack() as reading:
            is_plain = len(files) == 1 and _Head.of(files[0], encoding, reading).is_plain
            return files[0].stat().st_size if is_plain else None
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise BadInputError(f"{source}: cannot be read or converted: {error}") from error


def _opened(
    opened: ExitStack,
    source: Path,
    encoding: Encoding,
    delimiter: str | None,
    folder: Path,
    most_bytes: float,
    has_header: bool,
    as_utf8: bool,
) -> PlainCsv:
    files, skipped = _files_of(source)
    with ExitStack() as reading:
        first = _Head.of(files[0], encoding, reading)
        separator, said = first.delimiter(delimiter)
        notes = [*first.notes, *([said] if said else [])]
        is_plain = first.is_plain and has_header and not (as_utf8 and first.encoding != "utf-8")
        if is_plain and len(files) == 1 and source != STANDARD_INPUT:
            notes += _skipped_notes(skipped)
            return PlainCsv(files[0], "latin_1" if first.encoding == "latin-1" else "bytes", separator, tuple(notes))
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        copy = opened.enter_context(tempfile.TemporaryFile(dir=folder))
        writing = _Copy(copy, separator, most_bytes, has_header=has_header)
        skipped += not writing.add(files[0], first)
    for file in files[1:]:
        with ExitStack() as reading:
            head = _Head.of(file, encoding, reading)
            notes += [each for each in head.notes if each not in notes]
            skipped += not writing.add(file, head)
    if not copy.tell():
        raise BadInputError(f"{source}: is empty")
    copy.flush()
    notes += [f"{len(files):,} files as one"] if len(files) > 1 else []
    notes += _skipped_notes(skipped)
    notes += [] if has_header else ["header made: column_1, …"]
    return PlainCsv(Path(f"/proc/{os.getpid()}/fd/{copy.fileno()}"), "bytes", separator, tuple(notes))


def _skipped_notes(skipped: int) -> list[str]:
    return [f"skipped because empty or hidden: {counted(skipped, 'file')}"] if skipped else []


def _files_of(source: Path) -> tuple[list[Path], int]:
    """Return the files of a source in order, and how many of a folder or pattern are skipped.

    Empty files, and names that begin with a dot or an underscore, are other programs' marks.
    """
    if source == STANDARD_INPUT or source.is_file():
        return [source], 0
    if source.is_dir() or any(letter in str(source) for letter in "*?["):
        anchor = Path(source.anchor or ".")
        found = source.iterdir() if source.is_dir() else anchor.glob(str(source.relative_to(anchor)))
        files = [each for each in sorted(found) if each.is_file()]
        used = [each for each in files if each.name[0] not in "._" and each.stat().st_size]
        if used:
            return used, len(files) - len(used)
    if source.is_dir():
        raise BadInputError(f"{source}: the folder has no files with rows")
    raise BadInputError(f"{source}: {'not a file' if source.exists() else 'file not found'}")


@dataclass(frozen=True)
class _Head:
    """The beginning of a file, as bytes and decoded, and the stream with the rest."""

    stream: IO[bytes]
    begin: bytes
    encoding: str
    text: str
    has_returns: bool
    notes: tuple[str, ...]
    is_plain: bool

    @classmethod
    def of(cls, file: Path, encoding: Encoding, reading: ExitStack) -> _Head:
        """Open the file until `reading` ends, and recognize its form.

        Raises:
            BadInputError: If it is an archive.
        """
        raw = sys.stdin.buffer if file == STANDARD_INPUT else reading.enter_context(file.open("rb"))
        begin = raw.read(8)
        if begin.startswith(b"PK\x03\x04"):
            raise BadInputError(f"{file}: is a zip archive or a spreadsheet; unpack it, or save the sheet as CSV")
        codec = next((name for mark, name in _COMPRESSED.items() if begin.startswith(mark)), None)
        stream = cast(IO[bytes], io.BufferedReader(_Rejoined(begin, raw)))
        if codec is not None:
            stream = reading.enter_context(_decompressed(codec, stream))
        content = stream.read(_HEAD_BYTES)
        marked = next((name for mark, name in _WIDE.items() if content.startswith(mark)), None)
        # Without a mark, wide characters are in the order of Windows.
        used = marked or (f"{encoding}-le" if encoding in _WIDE.values() else encoding)
        text = content.decode(used, errors="ignore").removeprefix(_UTF8_MARK)
        has_returns = len(_LONE_RETURN.findall(text)) > text.count("\n")
        notes = [f"decompressed from {codec}"] if codec else []
        notes += [f"converted from {used.upper()}"] if used != "utf-8" else []
        notes += ["carriage returns converted to line feeds"] if has_returns else []
        text = _LONE_RETURN.sub("\n", text) if has_returns else text
        is_plain = codec is None and used in ("utf-8", "latin-1") and not has_returns
        return cls(stream, content, used, text, has_returns, tuple(notes), is_plain)

    def delimiter(self, given: str | None) -> tuple[str, str]:
        """Return the delimiter, and how it was found; the line `sep=` takes precedence."""
        if line := _SEPARATOR_LINE.match(self.text):
            return line["delimiter"], ""
        if given is not None:
            return given, ""
        best, most = DELIMITERS[0], 0
        for each in DELIMITERS:
            rows = list(islice(csv.reader(io.StringIO(self.text, newline=""), delimiter=each), _PROBED_ROWS))
            counts = [len(row) for row in rows if row]
            alike = max(map(counts.count, set(counts)), default=0)
            if counts and counts[0] > 1 and counts.count(counts[0]) == alike > most:
                best, most = each, alike
        return best, f"delimiter {'tab' if best == chr(9) else repr(best)} detected" if most else ""


class _Rejoined(io.RawIOBase):
    """A stream from which some bytes were read already."""

    def __init__(self, begin: bytes, rest: IO[bytes]) -> None:
        self._begin, self._rest = begin, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._begin[: len(buffer)] or self._rest.read(len(buffer))
        self._begin = self._begin[len(buffer) :]
        buffer[: len(found)] = found
        return len(found)


def _decompressed(codec: str, stream: IO[bytes]) -> IO[bytes]:
    if codec == "zstd":
        import pyarrow as pa  # noqa: PLC0415 (takes a tenth of a second, and few files need it)

        return cast(IO[bytes], pa.CompressedInputStream(pa.PythonFile(stream, "r"), "zstd"))
    if codec == "gzip":
        return cast(IO[bytes], gzip.GzipFile(fileobj=stream))
    return cast(IO[bytes], bz2.BZ2File(stream) if codec == "bzip2" else lzma.LZMAFile(stream))


class _FieldState:
    """Parse rows character by character by the rules of `FieldState.java`, which reads the plain files."""

    def __init__(self, delimiter: str) -> None:
        self._delimiter = delimiter
        self._is_open = False
        self._begin_field()

    def _begin_field(self) -> None:
        self._begins, self._is_quoted, self._has_lines = True, False, False

    def ends_row(self, each: str) -> bool:
        """Process the next character, and return whether it is the line feed at the end of a row."""
        if each == '"' and (self._is_quoted or self._begins):
            self._is_quoted, self._is_open, self._begins = True, not self._is_open, False
        elif self._is_open:
            self._has_lines |= each == "\n"
        elif each in ("\n", self._delimiter):
            self._begin_field()
            return each == "\n"
        else:
            self._begins &= each == " "
            self._is_quoted &= not self._has_lines or each in " \r"
        return False


class _Copy:
    """The converted copy, to which files are added."""

    def __init__(self, copy: IO[bytes], delimiter: str, most_bytes: float, *, has_header: bool) -> None:
        self._copy, self._delimiter, self._most_bytes, self._has_header = copy, delimiter, most_bytes, has_header
        self._header: str | None = None
        self._bytes = 0

    def add(self, file: Path, head: _Head) -> bool:
        """Add a file without its header, which must be the first one's; return False for an empty file.

        Raises:
            BadInputError: If it has another header, no rows, or is not in its encoding, or the copy becomes too large.
        """
        chunks = _chunks(file, head)
        begin = next(chunks, "").removeprefix(_UTF8_MARK)
        if not begin:
            return False
        if line := _SEPARATOR_LINE.match(begin):
            begin = begin[line.end() :]
        header, begin = self._split_header(file, begin, chunks) if self._has_header else (None, begin)
        if header is None:
            header = self._made_header(file, begin)
        elif self._header not in (None, header):
            raise BadInputError(
                f"{file}: has the header {header[:80]!r}, unlike the first file's {str(self._header)[:80]!r}"
            )
        if self._header is None:
            self._header = header
            self._write(file, f"{header}\n")
        last = ""
        for text in chain([begin], chunks):
            self._write(file, text)
            last = text or last
        if last and not last.endswith("\n"):
            self._write(file, "\n")
        return True

    def _made_header(self, file: Path, begin: str) -> str:
        rows = csv.reader(io.StringIO(begin, newline=""), delimiter=self._delimiter)
        row = next((each for each in rows if each), None)
        if row is None:
            raise BadInputError(f"{file}: has no rows")
        return self._delimiter.join(f"column_{number}" for number in range(1, len(row) + 1))

    def _split_header(self, file: Path, text: str, more: Iterator[str]) -> tuple[str, str]:
        """Return the header without its line end, and the text after it; a quoted field may contain line breaks."""
        state, begin, end = _FieldState(self._delimiter), 0, 0
        while end < len(text) or len(text) <= _LARGEST_HEADER:
            if end == len(text):
                following = next(more, None)
                if following is None:
                    break
                text += following
                continue
            end += 1
            if state.ends_row(text[end - 1]):
                header = text[begin:end]
                if header.strip():
                    return header.strip("\r\n"), text[end:]
                begin = end
        header = text[begin:]
        if not header.strip():
            raise BadInputError(f"{file}: is empty")
        if len(text) > _LARGEST_HEADER:
            raise BadInputError(f"{file}: its header does not end within {_LARGEST_HEADER >> 20} MiB")
        return header.strip("\r\n"), ""

    def _write(self, file: Path, text: str) -> None:
        content = text.encode("utf-8", "surrogateescape")
        self._bytes += len(content)
        if self._bytes > self._most_bytes:
            raise BadInputError(f"{file}: more than CEILING_GIB after conversion; raise the ceiling")
        self._copy.write(content)


def _chunks(file: Path, head: _Head) -> Iterator[str]:
    """Yield the file's text, with line feeds only if it has carriage returns alone.

    Raises:
        BadInputError: If it is not in its encoding.
    """
    # What is not UTF-8 stays as it is: such rows are malformed, and are counted as such.
    errors = "surrogateescape" if head.encoding == "utf-8" else "strict"
    decoder = codecs.getincrementaldecoder(head.encoding)(errors)
    lines: Any = io.IncrementalNewlineDecoder(decoder, translate=True) if head.has_returns else decoder
    read, content = 0, head.begin
    try:
        while content:
            held = len(decoder.getstate()[0])
            yield lines.decode(content)
            read += len(content)
            content = head.stream.read(_CHUNK_BYTES)
        held = len(decoder.getstate()[0])
        yield lines.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise BadInputError(
            f"{file}: byte {read - held + error.start:,} is not {head.encoding.upper()} text: {error.reason}; remove "
            "it, or give the file's encoding with ENCODING"
        ) from error
