"""Convert values as Spring Boot does for its own keys: sizes, durations, switches and choices."""

from __future__ import annotations

import re

# Units of Spring's DataSize and Duration; those of sizes are case-sensitive.
_NUMBER_AND_UNIT = re.compile(r"([+-]?[0-9]{1,18})([a-zA-Z]{1,2})")
_SIZE_UNITS = {unit: 1024**power for power, unit in enumerate(("B", "KB", "MB", "GB", "TB"))}
_NS_PER_MS = 1_000_000
_TIME_UNITS_NS = {
    "ns": 1,
    "us": 1_000,
    "ms": _NS_PER_MS,
    "s": 1_000 * _NS_PER_MS,
    "m": 60_000 * _NS_PER_MS,
    "h": 3_600_000 * _NS_PER_MS,
    "d": 86_400_000 * _NS_PER_MS,
}
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
    """Return a duration as a number of milliseconds, rounded down; other text is returned unchanged."""
    if re.fullmatch(r"[+-]?[pP][\w.+-]{0,40}", value.strip()):
        raise ValueError(f"{written}: {value!r}: write the duration in one unit, such as 500ms or 5s")
    duration = _NUMBER_AND_UNIT.fullmatch(value.strip())
    if duration is None:
        return value
    unit = duration[2].lower()
    if unit not in _TIME_UNITS_NS:
        raise ValueError(f"{written}: {value!r}: the unit must be one of {', '.join(_TIME_UNITS_NS)}")
    return str(int(duration[1]) * _TIME_UNITS_NS[unit] // _NS_PER_MS)


def switch_text(_: str, value: str) -> str:
    """Return `true` or `false` for Spring's boolean words; other text is returned unchanged."""
    return _SWITCHES.get(value.strip().lower(), value)


def isolation_text(_: str, value: str) -> str:
    """Return Kafka's form of `read-committed`, `READ_COMMITTED` and similar; other text is returned unchanged."""
    bare = re.sub("[-_]", "", value.strip()).lower()
    return {"readcommitted": "read_committed", "readuncommitted": "read_uncommitted"}.get(bare, value)
