"""Real-world CSV files become one plain file; those that are plain already stay as they are."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from kafka_pareto.drivers.ingestion.plain_csv import DELIMITERS, plain_csv, size_if_plain
from kafka_pareto.errors import BadInputError

pytestmark = pytest.mark.fast

ROWS = 'id;name\n1;"Müller; and sons"\n2;"two\nlines"\n3;x\n'


def converted(source: Path, tmp_path: Path, **options: object) -> tuple[str, str, tuple[str, ...], bool]:
    """The text, the delimiter, the notes, and whether it is the user's own file."""
    given = {"encoding": "utf-8", "delimiter": None, "folder": tmp_path / "state", **options}
    with plain_csv(source, **given) as plain:  # type: ignore[arg-type]
        return plain.path.read_bytes().decode(), plain.delimiter, plain.notes, plain.path == source


def test_a_plain_file_is_used_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(ROWS)
    assert converted(file, tmp_path) == (ROWS, ";", ("delimiter ';' detected",), True)
    assert converted(file, tmp_path, delimiter=",") == (ROWS, ",", (), True)
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(("codec", "name"), [(gzip.compress, "gzip"), (bz2.compress, "bzip2"), (lzma.compress, "xz")])
def test_a_compressed_file_is_recognized_by_its_content(
    codec: Callable[[bytes], bytes], name: str, tmp_path: Path
) -> None:
    file = tmp_path / "rows"
    file.write_bytes(codec(ROWS.encode()))
    text, delimiter, notes, is_own = converted(file, tmp_path)
    assert (text, delimiter, is_own) == (ROWS, ";", False)
    assert notes == (f"decompressed from {name}", "delimiter ';' detected")
    assert list((tmp_path / "state").iterdir()) == [], "the copy has no name, so nothing can leave it behind"


def test_a_file_compressed_by_zstd_is_recognized_too(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv.zst"
    with pa.OSFile(str(file), "wb") as opened, pa.CompressedOutputStream(opened, "zstd") as stream:
        stream.write(ROWS.encode() * 20_000)
    assert converted(file, tmp_path)[0] == ROWS * 20_000


def test_members_of_gzip_and_a_truncated_file(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv.gz"
    file.write_bytes(gzip.compress(b"a,b\n1,2\n") + gzip.compress(b"3,4\n"))
    assert converted(file, tmp_path)[0] == "a,b\n1,2\n3,4\n"
    file.write_bytes(gzip.compress(ROWS.encode() * 100_000)[:-20])
    with pytest.raises(BadInputError, match=r"rows\.csv\.gz: cannot be read or converted: Compressed file ended"):
        converted(file, tmp_path)


@pytest.mark.parametrize(
    ("encoding", "given", "said"),
    [
        ("cp1252", "cp1252", ("converted from CP1252",)),
        ("utf-16", "utf-8", ("converted from UTF-16",)),
        ("utf-32", "utf-8", ("converted from UTF-32",)),
        ("utf-16-le", "utf-16", ("converted from UTF-16-LE",)),
    ],
)
def test_other_encodings_become_utf_8(encoding: str, given: str, said: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_bytes(ROWS.encode(encoding))
    text, _, notes, is_own = converted(file, tmp_path, encoding=given, delimiter=";")
    assert (text, notes, is_own) == (ROWS, said, False)


def test_latin_1_is_left_to_the_tool_which_converts_row_by_row(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_bytes(ROWS.encode("latin-1"))
    with plain_csv(file, "latin-1", ";", tmp_path) as plain:
        assert (plain.path, plain.encoding) == (file, "latin_1")


def test_a_byte_that_is_not_in_the_encoding_is_named_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_bytes(b"a,b\n1,\x81\n")
    with pytest.raises(BadInputError, match=r"rows\.csv: byte 6 is not CP1252 text: .*ENCODING$"):
        converted(file, tmp_path, encoding="cp1252")


def test_what_is_not_utf_8_in_a_compressed_file_stays_as_it_is_to_be_counted(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv.gz"
    file.write_bytes(gzip.compress(b"a,b\n1,\xff\n"))
    with plain_csv(file, "utf-8", None, tmp_path) as plain:
        assert plain.path.read_bytes() == b"a,b\n1,\xff\n"


def test_carriage_returns_alone_become_line_feeds(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_bytes(b'a,b\r1,"x\ry"\r2,z')
    text, _, notes, _ = converted(file, tmp_path)
    assert text == 'a,b\n1,"x\ny"\n2,z\n'
    assert "carriage returns converted to line feeds" in notes


def test_a_file_without_a_header_gets_one_and_keeps_its_first_row(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text('1\t"a\tb"\t2\n3\tc\t4\n')
    text, delimiter, notes, _ = converted(file, tmp_path, has_header=False)
    assert text == 'column_1\tcolumn_2\tcolumn_3\n1\t"a\tb"\t2\n3\tc\t4\n'
    assert (delimiter, notes) == ("\t", ("delimiter tab detected", "header made: column_1, …"))


def test_a_folder_or_a_pattern_is_one_file_with_one_header(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "b.csv.gz").write_bytes(gzip.compress(b"a,b\n3,4\n"))
    (folder / "a.csv").write_bytes(b"\xef\xbb\xbfa,b\r\n1,2")
    (folder / ".hidden").write_text("no")
    expected = "a,b\n1,2\n3,4\n"
    text, _, notes, _ = converted(folder, tmp_path)
    assert text == expected
    assert notes[1:] == ("decompressed from gzip", "2 files as one", "skipped because empty or hidden: 1 file")
    assert converted(folder / "*.csv*", tmp_path)[0] == expected


@pytest.mark.parametrize("pattern", ["", "*.csv"], ids=["folder", "pattern"])
def test_a_folder_or_a_pattern_with_one_plain_file_is_that_file(pattern: str, tmp_path: Path) -> None:
    folder = tmp_path / "parts [1]"
    folder.mkdir()
    (folder / "a.csv").write_text(ROWS)
    (folder / "b.csv").touch()
    source = tmp_path / "parts*" / pattern if pattern else folder
    with plain_csv(source, "utf-8", ";", tmp_path / "state") as plain:
        assert (plain.path, plain.notes) == (folder / "a.csv", ("skipped because empty or hidden: 1 file",))
    assert size_if_plain(source, "utf-8") == len(ROWS.encode())
    assert not (tmp_path / "state").exists()


def test_a_file_with_another_header_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "a.csv").write_text("a,b\n1,2\n")
    (folder / "b.csv").write_text("a,c\n1,2\n")
    with pytest.raises(BadInputError, match=r"b\.csv: has the header 'a,c', unlike the first file's 'a,b'"):
        converted(folder, tmp_path)


def test_standard_input_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(gzip.compress(ROWS.encode()))))
    assert converted(Path("-"), tmp_path)[:2] == (ROWS, ";")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("absent.csv", None, "absent.csv: file not found"),
        ("*.tsv", None, "file not found"),
        ("sheet.xlsx", b"PK\x03\x04rest", "is a zip archive or a spreadsheet"),
        ("empty.csv.gz", gzip.compress(b"", mtime=0), "empty.csv.gz: is empty"),
    ],
)
def test_what_cannot_be_converted_is_refused(name: str, content: bytes | None, message: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInputError, match=message):
        converted(tmp_path / name, tmp_path)


@pytest.mark.parametrize(
    "header",
    ['"id" ,"name"', ' "i\nd" ,name', 'a"b,5" disk', '"a""\n""b",c', '"x\ny" "z,"a"', "i" * 100_000 + ',"\n"'],
)
def test_a_converted_file_ends_its_header_where_a_plain_one_does(header: str, tmp_path: Path) -> None:
    folder, rest = tmp_path / "parts", '1,"2\n3"\n'
    folder.mkdir()
    for name in ("a.csv.gz", "b.csv.gz"):
        (folder / name).write_bytes(gzip.compress(f"\n  \n{header}\n{rest}".encode()))
    assert converted(folder, tmp_path, delimiter=",")[0] == f"{header}\n{rest}{rest}"


@pytest.mark.parametrize("delimiter", DELIMITERS)
def test_the_delimiter_of_most_rows_is_found(delimiter: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    rows = [["id", "text, with others"], ["1", "a;b|c"], ["2", "d"], ["3", "e\tf"]]
    file.write_text("".join(delimiter.join(f'"{cell}"' for cell in row) + "\n" for row in rows))
    assert converted(file, tmp_path)[1] == delimiter


def test_the_line_sep_takes_precedence(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("sep=|\na|b,c\n1|2,3\n")
    assert converted(file, tmp_path, delimiter=",")[1] == "|"
    text, delimiter, *_ = converted(file, tmp_path, has_header=False)
    assert (text, delimiter) == ("column_1|column_2\na|b,c\n1|2,3\n", "|")


def test_latin_1_is_converted_where_the_tool_needs_utf_8(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_bytes(ROWS.encode("latin-1"))
    with plain_csv(file, "latin-1", ";", tmp_path / "state", as_utf8=True) as plain:
        assert (plain.path.read_text(encoding="utf-8"), plain.encoding) == (ROWS, "bytes")


def test_a_copy_above_the_limit_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv.gz"
    file.write_bytes(gzip.compress(ROWS.encode()))
    with pytest.raises(BadInputError, match="more than CEILING_GIB after conversion"):
        converted(file, tmp_path, most_bytes=10)
    assert size_if_plain(file, "utf-8") is None


def test_empty_parts_and_wildcards_in_folders(tmp_path: Path) -> None:
    for day, content in (("01", b'5" disk,price\n1,2\n'), ("02", b""), ("03", b'5" disk,price\n3,4\n')):
        (tmp_path / f"2026-{day}").mkdir()
        (tmp_path / f"2026-{day}" / "rows.csv.gz").write_bytes(gzip.compress(content))
    text, _, notes, _ = converted(tmp_path / "2026-*" / "rows.csv.gz", tmp_path)
    assert text == '5" disk,price\n1,2\n3,4\n'
    assert notes[-1] == "skipped because empty or hidden: 1 file"
