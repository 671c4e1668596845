"""The essence of the decision cards, for a terminal that is narrower than a card."""

from __future__ import annotations

import textwrap

from kafka_pareto.analysis.plain_table import table_lines
from kafka_pareto.decision.decision import Decision
from kafka_pareto.report.cards import HEADLINES, Cards, gain_rows, settings_rows, warnings_of
from kafka_pareto.study.cases import case_label

_COLUMNS_OF_GAINS = 5  # without what was shown and its p, which the reasons say


def short_cards(cards: Cards, width: int) -> str:
    """Of each record size the verdict, its reasons and warnings, the settings that change, and the gains."""
    return "\n\n".join(_short_card(decision, width) for decision in cards.cards)


def _short_card(decision: Decision, width: int) -> str:
    lines = [case_label(decision.case), HEADLINES[decision.verdict], "-" * width]
    for text in (*decision.reasons, *(f"WARNING: {warning}" for warning in warnings_of(decision))):
        lines += textwrap.wrap(text, width)
    header, *rows = settings_rows(decision)
    if len(header) > 2:
        lines += ["", *table_lines([header[:3], *(row[:3] for row in rows if row[3])])]
    if decision.gains:
        lines += ["", *table_lines([row[:_COLUMNS_OF_GAINS] for row in gain_rows(decision)])]
    return "\n".join(lines)
