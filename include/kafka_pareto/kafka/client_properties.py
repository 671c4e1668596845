"""Reads the Java `client.properties` of a cluster, and finds the secrets in it that no message may show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.properties_file import escaped, parse_properties

_NAME_PARTS = r"password|passphrase|passwd|secret|token|credential"
_SECRET_KEYS = re.compile(rf"{_NAME_PARTS}|jaas|keystore\.key|certificate", re.IGNORECASE)
# Value of a JAAS option: it ends at the first semicolon outside of quotes.
_SECRET_OPTIONS = re.compile(
    rf"""(?<![\w$-])[\w$-]*(?:{_NAME_PARTS})[\w$-]*\s*=((?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^;])*)""",
    re.IGNORECASE | re.DOTALL,
)
_QUOTED = re.compile(r""""((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'""", re.DOTALL)
_ESCAPE = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def read_client_config(path: Path) -> str:
    """Reads the file's text.

    Raises:
        BadInputError: If it cannot be read, is not UTF-8, or is no properties file to Java.
    """
    try:
        text = path.read_text(encoding="utf-8")
        parse_properties(text)
    except (OSError, ValueError) as error:
        raise BadInputError(f"{path}: cannot be read as a client.properties: {error}") from error
    return text


def secrets_in(client_config: str) -> list[str]:
    """Finds the texts that must not be repeated: values of secret keys, and the words of passwords in a JAAS line.

    Each secret is returned in four forms: as Java reads it, without the spaces around it, line by line, and as a
    properties file writes it.

    Returns:
        The longest first. A secret that contains another one is then hidden whole.
    """
    values = [value for key, value in parse_properties(client_config).items() if _SECRET_KEYS.search(key)]
    options = [option for value in values for option in _SECRET_OPTIONS.findall(value)]
    quoted = [double or single for option in options for double, single in _QUOTED.findall(option)]
    words = [word for option in options for word in re.split(r"[\s\"'=]+", option)]
    whole = [*values, *quoted, *(_ESCAPE.sub(_unescaped, each) for each in quoted), *words]
    as_read = {part.strip() for each in whole for part in (each, *each.splitlines())} | set(values)
    as_written = {escaped(each) for each in as_read}
    return sorted({secret for secret in as_read | as_written if secret.strip()}, key=len, reverse=True)


def _unescaped(found: re.Match[str]) -> str:
    """Reads an escape within the quotes of a JAAS line as Java's `StreamTokenizer` does."""
    return chr(int(found[1], 8)) if found[1][0] in "01234567" else _ESCAPED.get(found[1], found[1])


def hidden(text: str, secrets: Sequence[str]) -> str:
    """Returns the text with `[hidden]` in place of each secret."""
    for secret in secrets:
        text = text.replace(secret, "[hidden]")
    return text
