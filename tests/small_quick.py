"""The shipped study `quick` with few factors of few levels, two repetitions and no advice: what tests vary."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

import yaml

from tests.recorded import STUDIES

_SMALL: dict[str, Any] = {
    "factors": {
        "batch.size": {"type": "integer", "levels": [1024 << step for step in range(9)]},
        "linger.ms": {"type": "integer", "levels": [0, 5, 10, 100]},
        "acks": {"type": "categorical", "levels": ["0", "1", "all"]},
        "compression.type": {"type": "categorical", "levels": ["none", "zstd", "gzip", "snappy", "lz4"]},
    },
    "design": {"configurations": 5, "feasible": True},
    "strategy": "one_shot",
    "rounds": {},
    "advice": False,
}


def small_quick() -> dict[str, Any]:
    """Returns the keys of the study file, which the caller may change."""
    content = deepcopy(_shipped() | _SMALL)
    content["protocol"] |= {"repetitions": 2, "minimum_valid_repetitions": 2}
    return content


@cache
def _shipped() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((STUDIES / "quick.yaml").read_text(encoding="utf-8"))
    return found
