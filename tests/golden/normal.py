"""Artifacts as text that can be compared and read in a diff: the same bytes, but for what no run can repeat."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from PIL import Image

# NumPy, OpenBLAS and XGBoost choose their instructions by the CPU, so that the last bits of a float differ by machine.
_SIGNIFICANT_DIGITS = 10
_NOW = "<now>"
# Of a campaign that is not finished: it counts from now.
_LEFT = re.compile(r'("(?:likely|low|high)_s": )[\d.]+')
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
# From the kept campaigns' first repetition to the recorded store's last write.
_RECORDED = (datetime(2026, 11, 21, tzinfo=UTC), datetime(2026, 11, 22, 17, 10, tzinfo=UTC))
_PICTURE = re.compile(rb"data:image/png;base64,([A-Za-z0-9+/=]+)")


def as_text(key: str, content: bytes) -> str:
    """The artifact under this key as lines of text."""
    suffix = PurePosixPath(key).suffix
    if suffix == ".parquet":
        return _table(content)
    if suffix == ".json":
        return as_json(json.loads(content))
    if suffix == ".png":
        return _picture(content) + "\n"
    if suffix == ".html":
        return _PICTURE.sub(lambda found: _picture(base64.b64decode(found[1])).encode(), content).decode()
    if suffix == ".ubj":
        return f"{len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()}\n"
    if suffix == ".csv":
        return re.sub(r"-?\d+\.\d+(?:e[+-]\d+)?", lambda found: repr(_rounded(float(found[0]))), content.decode())
    return content.decode()


def as_json(value: Any) -> str:
    """Any plain value, indented, its floats rounded and its keys in their own order."""
    return json.dumps(_rounded(value), indent=1, ensure_ascii=False) + "\n"


def without_moments(text: str) -> str:
    """The text without the times of this run: all that are not of the days on which the stores were recorded."""

    def named(found: re.Match[str]) -> str:
        moment = datetime.fromisoformat(found[0])
        return found[0] if _RECORDED[0] <= moment.astimezone(UTC) <= _RECORDED[1] else _NOW

    return _LEFT.sub(rf"\1{_NOW}", _MOMENT.sub(named, text))


def _table(content: bytes) -> str:
    """Column names with their types, the schema's version, and a JSON list for every row."""
    table = pq.read_table(io.BytesIO(content))
    version = (table.schema.metadata or {}).get(b"kafka_pareto.schema_version", b"none").decode()
    head = ", ".join(f"{field.name}: {field.type}" for field in table.schema)
    rows = [json.dumps(_rounded(list(row.values())), ensure_ascii=False) for row in table.to_pylist()]
    return "\n".join([f"schema version {version}", head, *rows]) + "\n"


def _picture(content: bytes) -> str:
    """Digest of what is seen: the file names matplotlib's version besides."""
    pixels = np.asarray(Image.open(io.BytesIO(content)).convert("RGBA"))
    return f"PNG {pixels.shape[1]} x {pixels.shape[0]}, sha256 of pixels {hashlib.sha256(pixels.tobytes()).hexdigest()}"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_SIGNIFICANT_DIGITS}g}")
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list) else value
