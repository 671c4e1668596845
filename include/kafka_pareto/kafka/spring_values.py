"""Convert values as Spring Boot does for its own keys: sizes, durations, switches and choices."""

from __future__ import annotations

import re
from decimal import Decimal

# Units of Spring's DataSize and Duration; those of sizes are case-sensitive.
_NUMBER_AND_UNIT = re.compile(r"([+-]?[0-9]{1,18})([a-zA-Z]{1,2})")
_SIZE_UNITS = {unit: 1024**power for power, unit in enumerate(("B", "KB", "MB", "GB", "TB"))}
_SECONDS_IN = {
    "ns": Decimal("1e-9"),
    "us": Decimal("1e-6"),
    "ms": Decimal("1e-3"),
    "s": Decimal(1),
    "m": Decimal(60),
    "h": Decimal(3_600),
    "d": Decimal(86_400),
}
_LOOKS_ISO = re.compile(r"[+-]?[pP][\w.,+-]{0,40}")
# As `java.time.Duration.parse` reads it, which Spring calls.
_ISO_DURATION = re.compile(
    r"(?P<sign>[+-]?)P(?=[+-]?[0-9T])((?P<d>[+-]?[0-9]{1,18})D)?"
    r"(T(?=[+-]?[0-9])((?P<h>[+-]?[0-9]{1,18})H)?((?P<m>[+-]?[0-9]{1,18})M)?((?P<s>[+-]?[0-9]{1,18}([.,][0-9]{0,9})?)S)?)?",
    re.ASCII | re.IGNORECASE,
)
_SWITCHES = {"on": "true", "yes": "true", "1": "true", "off": "false", "no": "false", "0": "false"}


def bytes_text(written: str, value: str) -> str:
    """Return a size as a number of bytes; other text is returned unchanged."""
    size = _NUMBER_AND_UNIT.fullmatch("".join(value.split()))
    if size is None:
        return value
    if size[2] not in _SIZE_UNITS:
        raise ValueError(f"{written}: {value!r}: the unit must be one of {', '.join(_SIZE_UNITS)}")
    return str(int(size[1]) * _SIZE_UNITS[size[2]])


def milliseconds_text(written: str, value: str) -> str:
    """Return a duration as a number of milliseconds without fractions; other text is returned unchanged."""
    if _LOOKS_ISO.fullmatch(value.strip()):
        return _milliseconds(_iso_seconds(written, value.strip()))
    duration = _NUMBER_AND_UNIT.fullmatch(value.strip())
    if duration is None:
        return value
    unit = duration[2].lower()
    if unit not in _SECONDS_IN:
        raise ValueError(f"{written}: {value!r}: the unit must be one of {', '.join(_SECONDS_IN)}")
    return _milliseconds(int(duration[1]) * _SECONDS_IN[unit])


def _iso_seconds(written: str, value: str) -> Decimal:
    duration = _ISO_DURATION.fullmatch(value)
    if duration is None:
        raise ValueError(f"{written}: {value!r}: must be a duration such as 500ms, 5s or PT1M30S")
    parts = ((duration[unit], _SECONDS_IN[unit]) for unit in "dhms")
    seconds = sum((Decimal(number.replace(",", ".")) * unit for number, unit in parts if number), Decimal())
    return -seconds if duration["sign"] == "-" else seconds


def _milliseconds(seconds: Decimal) -> str:
    return str(int(seconds * 1000))


def switch_text(_: str, value: str) -> str:
    """Return `true` or `false` for Spring's boolean words; other text is returned unchanged."""
    return _SWITCHES.get(value.strip().lower(), value)


def isolation_text(_: str, value: str) -> str:
    """Return Kafka's form of `read-committed`, `READ_COMMITTED` and similar; other text is returned unchanged."""
    bare = re.sub("[-_]", "", value.strip()).lower()
    return {"readcommitted": "read_committed", "readuncommitted": "read_uncommitted"}.get(bare, value)


def plain_number_fix(value: str) -> str:
    """Return the fix, as the end of a message, of a size or duration in Spring's `properties`; empty for other text."""
    if _NUMBER_AND_UNIT.fullmatch(value) or _ISO_DURATION.fullmatch(value):
        return (
            "; Spring Boot passes values under properties to Kafka unconverted: write a whole number of milliseconds "
            "or bytes"
        )
    return ""
