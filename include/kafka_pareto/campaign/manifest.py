"""Defines what a step reports when it ends: its manifest, and the notice that people get."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from kafka_pareto.storage.record import Frozen, Record

NoticeKind = Literal["finished", "no_gain", "needs_approval", "in_force", "unchanged", "drift"]


class Notice(Frozen):
    """Tells people that a step has ended: plain text, with a subject of one line."""

    kind: NoticeKind
    subject: str
    text: str


class Manifest(Record):
    """Reports the end of a step in one line of keys and counts. Nothing else travels between tasks.

    Attributes:
        event: What the step's asset events carry, for other DAGs to react to; empty where it has none.
        notice: What people are told, if anything.
        question: The parameters of the run that asks a person; empty if nobody is asked.
    """

    step: str
    study: str
    campaign: str
    cases: list[str]
    artifacts: list[str]
    counts: dict[str, int | float]
    event: dict[str, JsonValue] = Field(default_factory=dict)
    notice: Notice | None = None
    question: dict[str, JsonValue] = Field(default_factory=dict)
