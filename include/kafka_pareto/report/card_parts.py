"""A decision card as parts, for whatever lays it out: the report's page and the explorer. Pure."""

from __future__ import annotations

from pydantic import BaseModel

from kafka_pareto.decision.decision import Decision
from kafka_pareto.report.advice import advice_of
from kafka_pareto.report.card_context import CardContext, context_lines, warnings_of_context
from kafka_pareto.report.cards import (
    baseline_gain_rows,
    evidence_of,
    gain_rows,
    notes_of,
    price_label,
    price_of,
    reference_label,
    settings_rows,
    standing,
    unresolved_of,
    warnings_of,
)
from kafka_pareto.report.latency_breakdown import Row, breakdown_rows, explanation
from kafka_pareto.report.reasons import headline_of


class CardParts(BaseModel):
    """The texts of one card; of tables, the first row is the header, and one without rows has nothing to say."""

    headline: str
    holds_for: str
    settings: list[Row]
    gains: list[Row]
    gains_over_baseline: list[Row]
    advice: list[str]
    breakdown: list[Row]
    explanation: list[str]
    context: dict[str, list[str]]
    price_label: str
    price: list[str]
    unresolved: list[str]
    warnings: list[str]
    notes: list[str]
    evidence: str


def card_parts(decision: Decision, context: CardContext | None, campaign: str) -> CardParts:
    """The parts of the card; the circumstances are known once the campaign is reported."""
    breakdown = context.breakdown if context else None
    return CardParts(
        headline=headline_of(decision),
        holds_for=decision.holds_for,
        settings=settings_rows(decision),
        gains=gain_rows(decision) if decision.gains else [],
        gains_over_baseline=baseline_gain_rows(decision),
        advice=advice_of(decision),
        breakdown=breakdown_rows(breakdown, reference_label(decision), standing(decision)) if breakdown else [],
        explanation=explanation(breakdown) if breakdown else [],
        context=context_lines(context, decision) if context else {},
        price_label=price_label(decision),
        price=price_of(decision),
        unresolved=unresolved_of(decision),
        warnings=[*warnings_of(decision), *(warnings_of_context(context) if context else [])],
        notes=notes_of(decision),
        evidence=evidence_of(decision, campaign),
    )
