"""Read a cluster's Java `client.properties` and find the secrets to hide in messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.properties_file import escaped, parse_properties

_NAME_PARTS = r"password|passphrase|passwd|secret|token|credential"
_SECRET_KEYS = re.compile(rf"{_NAME_PARTS}|jaas|keystore\.key|certificate", re.IGNORECASE)
# A JAAS option's value ends at the first semicolon outside quotes.
_SECRET_OPTIONS = re.compile(
    rf"""(?<![\w$-])[\w$-]*(?:{_NAME_PARTS})[\w$-]*\s*=((?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^;])*)""",
    re.IGNORECASE | re.DOTALL,
)
# Quotes and escapes surround or split a secret's words; Java drops them.
_BETWEEN_WORDS = re.compile(r"[\s\"'=\\]+")


def read_client_config(path: Path) -> str:
    """Read the file's text.

    Raises:
        BadInputError: If it cannot be read, is not UTF-8, or is not a valid properties file.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        parse_properties(text)
    except (OSError, ValueError) as error:
        raise BadInputError(f"{path}: cannot be read as a client.properties: {error}") from error
    return text


def secrets_in(client_config: str) -> list[str]:
    """Find the values of secret keys and the words of passwords in JAAS lines.

    Each is listed as Java reads it, stripped, line by line, and as written in a properties file. The longest come
    first, so a secret that contains another is hidden completely.
    """
    values = [value for key, value in parse_properties(client_config).items() if _SECRET_KEYS.search(key)]
    options = [option for value in values for option in _SECRET_OPTIONS.findall(value)]
    whole = [*values, *(word for option in options for word in _BETWEEN_WORDS.split(option))]
    as_read = {part.strip() for each in whole for part in (each, *each.splitlines())} | set(values)
    as_written = {escaped(each) for each in as_read}
    return sorted({secret for secret in as_read | as_written if secret.strip()}, key=len, reverse=True)


def hidden(text: str, secrets: Sequence[str]) -> str:
    """Replace each secret in the text by `[hidden]`."""
    for secret in secrets:
        text = text.replace(secret, "[hidden]")
    return text
