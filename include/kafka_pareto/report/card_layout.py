"""Lays decision cards out as plain text."""

from __future__ import annotations

from collections.abc import Sequence

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
    price_label,
    price_of,
    reference_label,
    settings_rows,
    standing,
    unresolved_of,
    warnings_of,
)
from kafka_pareto.report.latency_breakdown import Row, breakdown_rows, explanation
from kafka_pareto.report.reasons import headline_of, reason_of, whom_it_holds_for

WIDTH = 100


def cards_text(cards: Cards) -> str:
    """All cards, ASCII, at most `WIDTH` columns; what the main job prints."""
    pairs = zip(cards.cards, cards.contexts, strict=True)
    return "\n".join(card_text(decision, context, cards.campaign) for decision, context in pairs)


def card_text(decision: Decision, context: CardContext, campaign: str) -> str:
    """One card: verdict, settings, gains, what was given up, where the latency goes, how it was measured, evidence."""
    title, headline = whom_it_holds_for(decision), headline_of(decision)
    on_one_line = len(title) + 2 + len(headline) <= WIDTH
    first = [f"{title}{headline:>{WIDTH - len(title)}}"] if on_one_line else [title, f"{headline:>{WIDTH}}"]
    lines = ["=" * WIDTH, *first, "=" * WIDTH]
    lines += _wrapped("Why", reason_of(decision))
    warnings = [*warnings_of(decision), *warnings_of_context(context)]
    lines += [line for warning in warnings for line in _wrapped("WARNING", warning)]
    lines += ["", *card_table(settings_rows(decision)), ""]
    if decision.gains:
        lines += [*card_table(gain_rows(decision)), ""]
    if beside := baseline_gain_rows(decision):
        lines += [*card_table(beside), ""]
    lines += labelled("Advice", advice_of(decision))
    lines += [line for sentence in price_of(decision) for line in _wrapped(price_label(decision), sentence)]
    lines += labelled("Unresolved", unresolved_of(decision))
    if context.breakdown is not None:
        lines += ["", *card_table(breakdown_rows(context.breakdown, reference_label(decision), standing(decision))), ""]
        lines += labelled("Explanation", explanation(context.breakdown))
    for label, sentences in context_lines(context, decision).items():
        lines += labelled(label, sentences)
    lines += _wrapped("Evidence", evidence_of(decision, campaign))
    lines += [line for note in notes_of(decision) for line in _wrapped("Note", note)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def card_table(rows: Sequence[Row]) -> list[str]:
    """Returns a table as a card has it, with a rule below its header."""
    header, *lines = table_lines(rows)
    rule = "-" * max(map(len, (header, *lines)))
    return [f"  {line}" for line in (header, rule, *lines)]


def labelled(label: str, sentences: Sequence[str]) -> list[str]:
    """Each sentence on a line of its own, the label beside the first."""
    return [line for at, sentence in enumerate(sentences) for line in _wrapped("" if at else label, sentence)]


def _wrapped(label: str, text: str) -> list[str]:
    """The text beside its label; a word longer than the line stands whole in a line of its own."""
    lines: list[str] = []
    current = ""
    for word in text.split():
        if current and len(current) + 1 + len(word) > WIDTH - 14:
            lines.append(current)
            current = word
        else:
            current = f"{current} {word}".strip()
    lines.append(current)
    return [f"  {label:<12}{lines[0]}", *(" " * 14 + line for line in lines[1:])]
