"""Shortens the decision cards for a terminal that is narrower than a card."""

from __future__ import annotations

import textwrap

from kafka_pareto.analysis.plain_table import table_lines
from kafka_pareto.decision.decision import Decision
from kafka_pareto.report.cards import Cards, gain_rows, settings_rows, warnings_of
from kafka_pareto.report.reasons import headline_of, reason_of, whom_it_holds_for

_COLUMNS_OF_GAINS = 5  # without the verdict of each test and its p, which the reasons give


def short_cards(cards: Cards, width: int) -> str:
    """Returns for each record size the verdict, its reasons and warnings, the settings that change, and the gains."""
    return "\n\n".join(_short_card(decision, width) for decision in cards.cards)


def _short_card(decision: Decision, width: int) -> str:
    lines = [*textwrap.wrap(whom_it_holds_for(decision), width), headline_of(decision), "-" * width]
    for text in (reason_of(decision), *(f"WARNING: {warning}" for warning in warnings_of(decision))):
        lines += textwrap.wrap(text, width)
    header, *rows = settings_rows(decision)
    if decision.pick_properties is not None:
        lines += ["", *table_lines([header[:3], *(row[:3] for row in rows if row[-1])])]
    if decision.gains:
        lines += ["", *table_lines([row[:_COLUMNS_OF_GAINS] for row in gain_rows(decision)])]
    return "\n".join(lines)
