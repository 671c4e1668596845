"""Build the page's tables on the measurement: noise, ramp, load generator, uncounted repetitions."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kafka_pareto.analysis.noise_study import change_text
from kafka_pareto.analysis.wording import value_text
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.report.card_context import paced_rate_records_s
from kafka_pareto.report.evidence import Evidence
from kafka_pareto.report.measured_case import UNCOUNTED_SHOWN, Exclusion
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.declarations import label_of

_EXCLUSIONS: dict[Exclusion, str] = {
    "valid": "valid",
    "records_lost": "lost records",
    "records_duplicated": "duplicated records",
    "failed": "failed",
    "rejected": "rejected",
}


def noise_tables(evidence: Evidence) -> list[dict[str, Any]]:
    """Return the noise floor and smallest detectable effect per objective, for each case with an A/A test."""
    found = []
    for context in evidence.cards.contexts:
        if (report := context.noise) is None:
            continue
        rows = [
            {
                "label": label_of(one.objective),
                "value": value_text(one.value, one.objective),
                "floor": _change(one.noise_floor_fraction),
                "effect": _change(one.minimum_detectable_effect_fraction),
                "blocks": "more than 100,000" if one.blocks_for_wanted_effect is None else one.blocks_for_wanted_effect,
            }
            for one in report.objectives
        ]
        found.append({"size": case_label(report.case), "report": report, "rows": rows})
    return found


def ramps(evidence: Evidence) -> list[dict[str, Any]]:
    """Return each ramp: its steps, the capacity found, and the rate of the latency measurement."""
    return [
        {
            "size": case_label(context.case),
            "capacity": f"{context.sizing.capacity_records_s:,.0f}",
            "rate": f"{paced_rate_records_s(context.sizing) or 0:,.0f}",
            "steps": [
                {
                    "asked": f"{step.asked_records_s:,.0f}",
                    "held": f"{step.held_records_s:,.0f}",
                    "p95": f"{step.latency_p95_ms:,.1f}",
                    "sustained": "yes" if step.sustained else "no",
                }
                for step in context.sizing.ramp
            ],
        }
        for context in evidence.cards.contexts
        if context.sizing is not None and context.sizing.capacity_records_s is not None
    ]


def generator_checks(evidence: Evidence) -> list[dict[str, Any]]:
    """Return per case and side in how many valid repetitions the load generator was the bottleneck."""
    return [
        {
            "size": case_label(case),
            "side": side,
            "bound": check.bound,
            "of": check.repetitions,
            "example": check.example or "-",
        }
        for case, measured in evidence.measured.items()
        for side, check in measured.generator.items()
        if check.repetitions
    ]


def uncounted(evidence: Evidence) -> dict[str, Any]:
    """Return repetitions that failed, lost or duplicated records, or were rejected: counts and the first ones."""
    counts: Counter[str] = Counter()
    rows: list[dict[str, Any]] = []
    for measured in evidence.measured.values():
        counts.update({_EXCLUSIONS[exclusion]: count for exclusion, count in measured.uncounted.items()})
        rows += [_row(repetition, _EXCLUSIONS[exclusion]) for repetition, exclusion in measured.first_uncounted]
    return {"total": counts.total(), "counts": counts.most_common(), "rows": rows[:UNCOUNTED_SHOWN]}


def _row(repetition: Repetition, what: str) -> dict[str, Any]:
    return {
        "id": repetition.repetition_id,
        "size": case_label(repetition.case),
        "settings": ", ".join(f"{name}={value}" for name, value in repetition.configuration.items()),
        "what": what,
        "attempts": repetition.attempts,
        "reason": repetition.reason or "-",
    }


def _change(fraction: float | None) -> str:
    return "-" if fraction is None else change_text(fraction)
