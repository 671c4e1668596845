"""Read an access log and compute when each of its requests is due."""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any

REPLAY = "replay"
"""The workload that replays an access log."""

_COMMON = re.compile(r'\S+ \S+ .*?\[([^]]+)] "((?:[^"\\]|\\.)*)" [0-9]{3} (?:[0-9]+|-)(?: .*)?')
_REQUEST = re.compile(r"(?:[A-Za-z]+ )?(/.*?)(?: HTTP/\S+)?")
_ESCAPED_BYTE = re.compile(r"\\x([0-9A-Fa-f]{2})")
_RULE = "must be an entry of nginx's combined or common log format, or a JSON object with time and request or uri"
_brief = reprlib.Repr()
_brief.maxstring = 80

TimedPath = tuple[float, str]
"""Time in seconds, and path."""


@dataclass(frozen=True)
class AccessLog:
    """Requests of a log, ordered by timestamp in seconds since 1970; `skipped` counts the entries without a path."""

    requests: Sequence[TimedPath]
    skipped: int


def read_log(text: str) -> AccessLog:
    """Read nginx's combined or common log format, or JSON lines; blank lines are skipped.

    Raises:
        ValueError: If a line is malformed, naming it, or if no entry has a path.
    """
    entries: list[TimedPath] = []
    for number, line in enumerate(map(str.strip, text.split("\n")), 1):
        if line:
            try:
                entries.append(_json_entry(line) if line.startswith("{") else _common_entry(line))
            except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
                raise ValueError(f"line {number}: {_brief.repr(line)}: {_RULE}") from error
    requests = sorted((each for each in entries if each[1]), key=itemgetter(0))
    if not requests:
        raise ValueError("contains no request; it must be an access log with one entry per line")
    return AccessLog(requests, len(entries) - len(requests))


def due_requests(log: AccessLog, times: float) -> list[TimedPath]:
    """Return the requests with the seconds after the first at which they are due, at `times` the logged speed.

    If all timestamps are whole seconds, the requests of a second are spread evenly over it.
    """
    stamps_s = [at_s for at_s, _ in log.requests]
    if all(at_s.is_integer() for at_s in stamps_s):
        seconds = [list(same) for _, same in groupby(stamps_s)]
        stamps_s = [same[0] + place / len(same) for same in seconds for place in range(len(same))]
    paths = (path for _, path in log.requests)
    return [((at_s - stamps_s[0]) / times, path) for at_s, path in zip(stamps_s, paths, strict=True)]


def _common_entry(line: str) -> TimedPath:
    found = _COMMON.fullmatch(line)
    if found is None:
        raise ValueError(line)
    stamp, request = found.groups()
    return _seconds_of(stamp), _path_of(request)


def _json_entry(line: str) -> TimedPath:
    found = json.loads(line)
    return _seconds_of_json(found["time"]), _path_of(found["request"] if "request" in found else found["uri"])


def _path_of(request: str) -> str:
    """Return the path of a request such as `GET /a HTTP/1.1`, or of a path alone; empty if it has none."""
    found = _REQUEST.fullmatch(request)
    return _ESCAPED_BYTE.sub(r"%\1", found[1]) if found else ""


# Entries of the same second have the same timestamp.
@lru_cache(maxsize=64)
def _seconds_of(stamp: str) -> float:
    return datetime.strptime(stamp, "%d/%b/%Y:%H:%M:%S %z").timestamp()


def _seconds_of_json(time: Any) -> float:
    """Return seconds since 1970 from a number, a numeric text, or an ISO time (UTC by default)."""
    if isinstance(time, bool):
        raise TypeError(time)
    try:
        at_s = float(time)
    except ValueError:
        at = datetime.fromisoformat(time)
        at_s = (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    if not math.isfinite(at_s):
        raise ValueError(time)
    return at_s
