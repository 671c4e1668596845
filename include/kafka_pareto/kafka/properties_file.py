"""Read and write Java's `.properties` files as `java.util.Properties` does."""

from __future__ import annotations

import re
from collections.abc import Mapping

import javaproperties

from kafka_pareto.kafka.known_properties import PropertyValue

# A line with only a backslash. Java skips it; the library would join it with a comment on the next line.
_EMPTY_CONTINUATION = re.compile(r"(?:\A|(?<=[\r\n]))[ \t\f]*\\(?:\r\n|\r|\n)(?!\Z)")


def parse_properties(text: str) -> dict[str, str]:
    r"""Parse the text of a `.properties` file as Java does: separators, comments, continuations and escapes.

    Raises:
        ValueError: If a `\u` escape lacks its four digits, as in Java; the text, perhaps secret, is not in the message.
    """
    found: dict[str, str] = {}
    try:
        for element in javaproperties.parse(_EMPTY_CONTINUATION.sub("", text)):
            if isinstance(element, javaproperties.KeyValue):
                found[element.key] = element.value
            elif isinstance(element, javaproperties.Whitespace) and "\\" in element.source:
                found[""] = ""  # Java reads an empty key if the file ends in such a line
    except javaproperties.InvalidUEscapeError:
        raise ValueError(r"a \u must be followed by four hexadecimal digits; write \\ for a backslash") from None
    return found


def property_text(value: PropertyValue) -> str:
    """Return a setting's value as a `.properties` file writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def properties_lines(values: Mapping[str, PropertyValue]) -> str:
    """Render `name=value` lines in ASCII, which is valid ISO 8859-1 and UTF-8."""
    return javaproperties.dumps({name: property_text(value) for name, value in values.items()}, timestamp=None)


def escaped(value: str) -> str:
    """Escape a value as `properties_lines` does."""
    return javaproperties.join_key_value("", value)[1:]
