"""Decisions as earlier releases stored them.

Schema version 3 held sentences, and said `tentative` of the pick. Early decisions of version 4 knew only the baseline,
and counted in single keys.
"""

from __future__ import annotations

import re
from typing import Any

from kafka_pareto.study.drivers import objective_named
from kafka_pareto.study.objectives import Limit

_RENAMED = {
    "tentative_configuration_id": "pick_configuration_id",
    "tentative_properties": "pick_properties",
    "tentative_durability": "pick_durability",
}
_SENTENCES = ("reasons", "given_up")
_SIDES = {"limits_missed": "candidate_value", "baseline_limits_missed": "baseline_value"}
_COUNTED = {
    "lost_records": "repetitions_lost_records",
    "failed": "repetitions_failed",
    "generator_bound": "generator_bound",
}


def decision_of_earlier_form(found: Any) -> Any:
    """Says a stored decision as today's; everything else is returned as it is.

    The sentences of version 3 are left out: they follow from what else it holds. Of a missed limit the value is the
    gain's, or as many of its digits as the text had.

    Raises:
        ValueError: If it is damaged.
    """
    if not isinstance(found, dict) or "pick_counts" in found:
        return found
    try:
        if "tentative_configuration_id" in found:
            found = _of_version_3(found)
        return _before_counts(found) if "repetitions_failed" in found else found
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"is no decision of an earlier release: {type(error).__name__}: {error}") from error


def _of_version_3(found: dict[str, Any]) -> dict[str, Any]:
    said = {_RENAMED.get(name, name): value for name, value in found.items() if name not in _SENTENCES}
    for name, side in _SIDES.items():
        values = {gain["objective"]: gain[side] for gain in found.get("gains", [])}
        said[name] = [_missed_limit(text, values) for text in found.get(name, [])]
    return said


def _before_counts(found: dict[str, Any]) -> dict[str, Any]:
    said = {**found, "verdict": found["verdict"].replace("keep_baseline_", "keep_")}
    means = [gain for gain in found["gains"] if not objective_named(gain["objective"]).spread_of]
    if said["verdict"] == "keep_no_gain" and any(gain["resolution"] == "worse" for gain in means):
        said["verdict"] = "keep_harmed"
    for side, prefix in (("pick_counts", ""), ("baseline_counts", "baseline_")):
        counted = {name: said.pop(f"{prefix}{stored}") for name, stored in _COUNTED.items()}
        said[side] = {"repetitions": None, **counted}
    said["harm_margin_fraction"] = found["wanted_effect_fraction"]
    return said


def _missed_limit(text: str, values: dict[str, float | None]) -> dict[str, Any]:
    """Reads `p95_latency_ms <= 40 (50.0 ms, 25.0% beyond)`, or `... (not known)`."""
    limit_text, _, told = text.partition(" (")
    limit = Limit.parse(limit_text)
    digits = re.match(r"[0-9.,]*[0-9.]", told)
    as_told = float(digits[0].replace(",", "")) if digits else None
    return {"limit": limit, "value": values.get(limit.objective, as_told)}
