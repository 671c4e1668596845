"""Lay out decision cards: as parts for the page and the explorer, and as plain text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from functools import partial

from pydantic import BaseModel

from kafka_pareto.analysis.plain_table import table_lines
from kafka_pareto.decision.decision import Decision
from kafka_pareto.report.advice import advice_of
from kafka_pareto.report.card_context import CardContext, context_lines, warnings_of_context
from kafka_pareto.report.cards import (
    Cards,
    baseline_gain_rows,
    evidence_of,
    gain_rows,
    notes_of,
    reference_label,
    settings_rows,
    standing,
    trade_offs_of,
    unresolved_of,
    warnings_of,
)
from kafka_pareto.report.latency_breakdown import Row, breakdown_rows, explanation
from kafka_pareto.report.reasons import headline_of, reason_of, whom_it_holds_for

WIDTH = 100
_UNBROKEN = "\N{NO-BREAK SPACE}"


class CardParts(BaseModel):
    """The texts of one card. A table's first row is its header; a table without rows is omitted."""

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
    """Return the parts of the card; the circumstances are known once the campaign is reported."""
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
        price_label="Trade-offs",
        price=trade_offs_of(decision),
        unresolved=unresolved_of(decision),
        warnings=[*warnings_of(decision), *(warnings_of_context(context) if context else [])],
        notes=notes_of(decision),
        evidence=evidence_of(decision, campaign),
    )


def cards_text(cards: Cards) -> str:
    """Return all cards as ASCII, at most `WIDTH` columns wide, as the main job prints them."""
    pairs = zip(cards.cards, cards.contexts, strict=True)
    return "\n".join(card_text(decision, context, cards.campaign) for decision, context in pairs)


def card_text(decision: Decision, context: CardContext, campaign: str, width: int = WIDTH) -> str:
    """Return one card: verdict, settings, gains, trade-offs, latency breakdown, measurement.

    Sentences wrap at `width` columns, and tables are set narrower if they need it.
    """
    label, table = partial(labelled, width=width), partial(card_table, width=width)
    parts = card_parts(decision, context, campaign)
    title, headline = whom_it_holds_for(decision), parts.headline
    on_one_line = len(title) + 2 + len(headline) <= width
    first = [f"{title}{headline:>{width - len(title)}}"] if on_one_line else [title, f"{headline:>{width}}"]
    lines = ["=" * width, *first, "=" * width]
    lines += label("Why", [reason_of(decision)])
    lines += [line for warning in parts.warnings for line in label("WARNING", [warning])]
    lines += ["", *table(parts.settings), ""]
    for rows in (parts.gains, parts.gains_over_baseline):
        lines += [*table(rows), ""] if rows else []
    lines += label("Advice", parts.advice)
    lines += [line for sentence in parts.price for line in label(parts.price_label, [sentence])]
    lines += label("Unresolved", parts.unresolved)
    lines += ["", *table(parts.breakdown), ""] if parts.breakdown else []
    for name, sentences in {"Explanation": parts.explanation, **parts.context, "Evidence": [parts.evidence]}.items():
        lines += label(name, sentences)
    lines += [line for note in parts.notes for line in label("Note", [note])]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def card_table(rows: Sequence[Row], width: int = WIDTH) -> list[str]:
    """Return a table of a card, with a rule below its header; one that is too wide loses spaces between columns."""
    for indent, gap in (("  ", "  "), ("  ", " "), ("", " ")):
        header, *lines = table_lines(rows, gap=gap)
        rule = "-" * max(map(len, (header, *lines)))
        if len(indent) + len(rule) <= width:
            break
    return [f"{indent}{line}" for line in (header, rule, *lines)]


def labelled(label: str, sentences: Sequence[str], width: int = WIDTH) -> list[str]:
    """Wrap each sentence on its own lines, the label beside the first; longer words are kept whole."""
    return [
        line.replace(_UNBROKEN, " ")
        for at, sentence in enumerate(sentences)
        for line in textwrap.wrap(
            " ".join(sentence.split()).replace(" %", f"{_UNBROKEN}%"),
            width,
            initial_indent=f"  {'' if at else label:<12}",
            subsequent_indent=" " * 14,
            break_long_words=False,
            break_on_hyphens=False,
        )
    ]
