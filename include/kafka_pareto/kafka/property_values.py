"""Types the values of Kafka's settings, which properties files hold as text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

PropertyValue: TypeAlias = str | int | float | bool

Bounds: TypeAlias = tuple[int, int | None]
"""The smallest value and the largest; None where there is none."""
INT_MAX = 2147483647
"""The largest value of Kafka's type INT, which bounds many a setting that has no other bound."""

_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")  # no setting of Kafka's needs more digits


def value_of(
    name: str,
    text: str,
    defaults: Mapping[str, PropertyValue],
    choices: Mapping[str, tuple[str, ...]],
    bounds: Mapping[str, Bounds],
) -> PropertyValue:
    """Converts the text of a property to a value of its default's type.

    Raises:
        ValueError: If the text is none of the property's choices, or no whole number within its bounds.
    """
    if name in choices and text not in choices[name]:
        raise ValueError(f"{name}: {text!r} must be one of {', '.join(choices[name])}")
    if isinstance(defaults[name], bool):
        return text == "true"
    if isinstance(defaults[name], str):
        return text
    if not _WHOLE_NUMBER.fullmatch(text):
        raise ValueError(f"{name}: {text!r} must be a whole number")
    number, (least, most) = int(text), bounds.get(name, (None, None))
    if least is not None and number < least:
        raise ValueError(f"{name}: {number} must be at least {least}")
    if most is not None and number > most:
        raise ValueError(f"{name}: {number} must be at most {most}")
    return number
