"""Holds what a comparison's report says of all its parts together: symptoms, and the machine's ceilings. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_pareto.bottleneck.records import Ceilings
from kafka_pareto.comparison.records import PartComparison


@dataclass(frozen=True)
class CauseText:
    """Holds why a symptom shows and what would act on it, as a sentence, and the part that measured what it does."""

    text: str
    part: str = ""


@dataclass(frozen=True)
class SymptomText:
    """Holds the symptoms of one measurement in sentences, with the cause, or two that fit."""

    text: str
    causes: Sequence[CauseText] = ()


@dataclass(frozen=True)
class Remarks:
    """Holds the remarks of a report.

    Attributes:
        parts: The comparison's, in the study's order.
        symptoms: Those found at the reference.
        ceilings: What the machine can do without Kafka; None where that was not measured.
    """

    parts: Sequence[PartComparison] = ()
    symptoms: Sequence[SymptomText] = ()
    ceilings: Ceilings | None = None


def shown_text(cause: CauseText) -> str:
    """Says where the report shows what acting on the cause does."""
    return f"Measured here: part {cause.part}." if cause.part else "Not measured here."
