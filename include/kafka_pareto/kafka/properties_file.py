"""Read and write Java's `.properties` files so that `java.util.Properties` agrees."""

from __future__ import annotations

import re
from collections.abc import Mapping

import javaproperties

from kafka_pareto.kafka.known_properties import PropertyValue

# A line that holds only a continuation. Java skips it wherever it stands, and a comment may follow it. The
# library would read that comment as the line's continuation.
_EMPTY_CONTINUATION = re.compile(r"(?:\A|(?<=[\r\n]))[ \t\f]*\\(?:\r\n|\r|\n)(?!\Z)")


def parse_properties(text: str) -> dict[str, str]:
    r"""Read the text of a `.properties` file as Java does: separators, comments, continuations and escapes.

    Raises:
        ValueError: If a `\u` escape lacks its four digits, which Java refuses too. The message holds nothing of the
            text: that may be a secret.
    """
    found: dict[str, str] = {}
    try:
        for element in javaproperties.parse(_EMPTY_CONTINUATION.sub("", text)):
            if isinstance(element, javaproperties.KeyValue):
                found[element.key] = element.value
            elif isinstance(element, javaproperties.Whitespace) and "\\" in element.source:
                found[""] = ""  # Java reads an empty key where a file ends in such a line
    except javaproperties.InvalidUEscapeError:
        raise ValueError(r"a \u must be followed by four hexadecimal digits; write \\ for a backslash") from None
    return found


def property_text(value: PropertyValue) -> str:
    """Return a setting's value in the spelling of a `.properties` file."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def properties_lines(values: Mapping[str, PropertyValue]) -> str:
    """Write a line `name=value` for each, in ASCII, which Java reads equally as ISO 8859-1 and as UTF-8."""
    return javaproperties.dumps({name: property_text(value) for name, value in values.items()}, timestamp=None)


def escaped(value: str) -> str:
    """Return a value in the spelling that `properties_lines` writes."""
    return javaproperties.join_key_value("", value)[1:]
