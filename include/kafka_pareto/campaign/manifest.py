"""A step's report at its end: manifest and notice."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from kafka_pareto.storage.record import Frozen, Record

NoticeKind = Literal["finished", "no_gain", "needs_approval", "in_force", "unchanged", "drift"]


class Notice(Frozen):
    """Plain-text notice to people, with a one-line subject."""

    kind: NoticeKind
    subject: str
    text: str


class Manifest(Record):
    """A step's result in one line of keys and counts, the only data passed between tasks.

    `event` is the payload of its asset events, `question` the parameters of the run that asks for approval; both may be
    empty.
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
