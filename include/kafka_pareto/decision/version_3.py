"""Decisions of schema version 3, which held sentences and said `tentative` of the pick."""

from __future__ import annotations

import re
from typing import Any

from kafka_pareto.study.objectives import Limit

_RENAMED = {
    "tentative_configuration_id": "pick_configuration_id",
    "tentative_properties": "pick_properties",
    "tentative_durability": "pick_durability",
}
_SENTENCES = ("reasons", "given_up")
_SIDES = {"limits_missed": "candidate_value", "baseline_limits_missed": "baseline_value"}


def decision_of_version_3(found: Any) -> Any:
    """Says a stored decision of version 3 as today's; everything else is returned as it is.

    Its sentences are left out: they follow from what else it holds. Of a missed limit the value is the gain's, or as
    many of its digits as the text had.

    Raises:
        ValueError: If it is damaged.
    """
    if not isinstance(found, dict) or "tentative_configuration_id" not in found:
        return found
    said = {_RENAMED.get(name, name): value for name, value in found.items() if name not in _SENTENCES}
    try:
        for name, side in _SIDES.items():
            values = {gain["objective"]: gain[side] for gain in found.get("gains", [])}
            said[name] = [_missed_limit(text, values) for text in found.get(name, [])]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"is no decision of version 3: {type(error).__name__}: {error}") from error
    return said


def _missed_limit(text: str, values: dict[str, float | None]) -> dict[str, Any]:
    """Reads `p95_latency_ms <= 40 (50.0 ms, 25.0% beyond)`, or `... (not known)`."""
    limit_text, _, told = text.partition(" (")
    limit = Limit.parse(limit_text)
    digits = re.match(r"[0-9.,]*[0-9.]", told)
    as_told = float(digits[0].replace(",", "")) if digits else None
    return {"limit": limit, "value": values.get(limit.objective, as_told)}
