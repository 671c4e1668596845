"""Properties files are read like `java.util.Properties` does, and written ones are read by it."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafka_pareto.kafka.properties_file import parse_properties, properties_lines
from kafka_pareto.settings import Settings

pytestmark = pytest.mark.fast

READER = Path(__file__).parents[2] / "fixtures" / "PropertiesReader.java"
# What the format gives a meaning to, and what other readers take for an end of line or a space.
PIECES = st.sampled_from(
    [*"\\\\\\==::##!!  \t\f\n\n\r\"'abu0", "\\u", "00e9", "\r\n", "é", "🐦", "\x00", "\x0b", "\x85", "\u2028"]
)
FILES = st.lists(PIECES, max_size=40).map("".join)
TEXTS = st.lists(st.one_of(PIECES, st.characters(exclude_categories=["Cs"])), max_size=20).map("".join)


class Java:
    """Java's own reader, as a process that is asked again and again."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def read(self, text: str) -> dict[str, str] | None:
        """Read characters; None if Java refuses them."""
        return self._ask("text", text.encode("utf-16-be", "surrogatepass"))

    def read_bytes(self, content: bytes) -> dict[str, str] | None:
        """Read bytes, which Java takes for ISO 8859-1."""
        return self._ask("bytes", content)

    def _ask(self, form: str, content: bytes) -> dict[str, str] | None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{form} {base64.b64encode(content).decode()}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        if answer == "!":
            return None
        words = [base64.b64decode(word[1:]).decode("utf-16-be", "surrogatepass") for word in answer.split()]
        return dict(zip(words[::2], words[1::2], strict=True))


@pytest.fixture(scope="module")
def java() -> Iterator[Java]:
    argv = [Settings().java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", str(READER)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Java(process)
        assert process.stdin is not None
        process.stdin.close()


def ours(text: str) -> dict[str, str] | None:
    try:
        return parse_properties(text)
    except ValueError:
        return None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ssl.key.password hunter 2", {"ssl.key.password": "hunter 2"}),
        ("ssl.key.password:hunter2", {"ssl.key.password": "hunter2"}),
        ("ssl.key.password = hunter2 ", {"ssl.key.password": "hunter2 "}),
        ("ssl.key.password\\\n  = hun\\\r\n  ter\\\n#2", {"ssl.key.password": "hunter#2"}),
        ("ssl.key.p\\u0061ssword=h\\u00fcnter", {"ssl.key.password": "hünter"}),
        ("a\\=b\\ c=d\\:e", {"a=b c": "d:e"}),
        ("# a=1\\\nb=2\n! c=3", {"b": "2"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("\\\n# a comment\na=b", {"a": "b"}),
        ("a", {"a": ""}),
        ("=b", {"": "b"}),
    ],
)
def test_every_valid_form_is_read_like_java_does(java: Java, text: str, expected: dict[str, str]) -> None:
    assert java.read(text) == expected
    assert parse_properties(text) == expected


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(FILES)
@example("\\\n#b")
@example("a\\\n\\\n#b")
@example("=b\n\\")
@example("\\ud83d\\udc26=\\ud83d")
def test_any_text_is_read_like_java_does(java: Java, text: str) -> None:
    assert ours(text) == java.read(text)


def test_an_escape_that_java_refuses_is_refused_without_its_text(java: Java) -> None:
    text = "ssl.key.password=\\uhunter2"

    with pytest.raises(ValueError, match="four hexadecimal digits") as caught:
        parse_properties(text)

    assert java.read(text) is None
    assert "hun" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.dictionaries(TEXTS, TEXTS, max_size=5))
def test_java_reads_the_written_file_whatever_encoding_it_assumes(java: Java, values: dict[str, str]) -> None:
    text = properties_lines(values)

    assert java.read(text) == values
    assert java.read_bytes(text.encode("utf-8")) == values
    assert parse_properties(text) == values


def test_a_setting_is_written_as_kafka_expects_it() -> None:
    text = properties_lines({"linger.ms": 5, "enable.idempotence": True, "acks": "all"})

    assert text == "linger.ms=5\nenable.idempotence=true\nacks=all\n"
