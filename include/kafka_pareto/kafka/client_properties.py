"""The Java `client.properties` of a cluster: how it is read, and what of it must never appear in a message."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.producer_config import parse_properties

_SECRET_KEYS = re.compile(r"password|secret|jaas|token|credential|keystore\.key", re.IGNORECASE)
_SECRET_OPTIONS = re.compile(r"\w*(?:password|secret|token)\w*\s*=([^;]*)", re.IGNORECASE)


def read_client_config(path: Path) -> str:
    """The file's text.

    Raises:
        BadInputError: If it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path}: cannot be read as a client.properties: {error}") from error


def secrets_in(client_config: str) -> list[str]:
    """The values of secret keys, whole and in the words of a JAAS line; the longest first."""
    values = [value for key, value in parse_properties(client_config).items() if _SECRET_KEYS.search(key)]
    options = [words for value in values for words in _SECRET_OPTIONS.findall(value)]
    words = [word for option in options for word in re.split(r"[\s\"'=]+", option)]
    return sorted({secret for secret in [*values, *words] if secret}, key=len, reverse=True)


def hidden(text: str, secrets: Sequence[str]) -> str:
    """The text without the secrets."""
    for secret in secrets:
        text = text.replace(secret, "[hidden]")
    return text
