"""Keeps every answer that people gave about a campaign's recommendations."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.storage.record import Record, decode_record


class Answer(Record):
    """Holds a person's answer about the recommendations for these record sizes."""

    answer: Literal["approve", "reject"]
    by: str
    reason: str
    cases: list[str]
    at: datetime


def keep_answer(campaign: Campaign, answer: Answer) -> str:
    """Stores the answer next to earlier ones and returns its key; the same answer is stored once."""
    return campaign.write_record(campaign.keys.answer(answer.at), answer)


def last_answer(campaign: Campaign, case: str) -> Answer | None:
    """Returns the last answer for the record size; None if nobody has answered."""
    for key in reversed(campaign.store.keys(campaign.keys.answers())):
        answer = decode_record(campaign.store.get(key), key, Answer)
        if case in answer.cases:
            return answer
    return None
