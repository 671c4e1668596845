"""The result of a command for scripts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Reply:
    """The fields of the JSON object printed by `--json`, and the exit code."""

    fields: Mapping[str, Any]
    exit_code: int = 0
