"""Reads what the web server has logged: JSON objects, each on a line or on several, also in files that were rotated."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from kafka_pareto.errors import LoadToolError

_MS = 1e3


def read_access_log(path: Path) -> pd.DataFrame:
    """Returns the requests in the order of the log: `request_id`, `t0` in milliseconds since 1970, and `uri`.

    What was rotated away is part of the log: of `<path>.2`, `<path>.1` and so on, the highest number is the oldest.

    Raises:
        LoadToolError: If an object is cut short, or lacks its id or its time.
    """
    rows = []
    for file in [*_rotated_away(path), path]:
        for place, found in _objects(file):
            try:
                rows.append((str(found["request_id"]), round(float(found["t0"]) * _MS), str(found.get("uri", ""))))
            except (KeyError, TypeError, ValueError) as error:
                raise LoadToolError(f"{file.name}: at character {place}: no request with request_id and t0") from error
    return pd.DataFrame(rows, columns=["request_id", "t0", "uri"])


def _rotated_away(path: Path) -> list[Path]:
    numbered = [each for each in path.parent.glob(f"{path.name}.*") if each.suffix[1:].isdecimal()]
    return sorted(numbered, key=lambda each: int(each.suffix[1:]), reverse=True)


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    text = path.read_text(errors="replace")
    decoder, place = json.JSONDecoder(), 0
    while True:
        while place < len(text) and text[place].isspace():
            place += 1
        if place == len(text):
            return
        try:
            found, end = decoder.raw_decode(text, place)
        except ValueError as error:
            raise LoadToolError(
                f"{path.name}: at character {place}: no JSON object: {text[place : place + 60]!r}"
            ) from error
        if not isinstance(found, dict):
            raise LoadToolError(f"{path.name}: at character {place}: no JSON object: {text[place : place + 60]!r}")
        yield place, found
        place = end
