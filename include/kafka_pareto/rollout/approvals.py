"""What people have answered when they were asked about a campaign's recommendations; every answer is kept."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.storage.record import Record, decode_record


class Answer(Record):
    """What a person answered when they were asked about the recommendations for these record sizes."""

    answer: Literal["approve", "reject"]
    by: str
    reason: str
    cases: list[str]
    at: datetime


def keep_answer(campaign: Campaign, answer: Answer) -> str:
    """Writes the answer beside the earlier ones, and returns its key; the same one again is the same object."""
    return campaign.write_record(campaign.keys.answer(answer.at), answer)


def last_answer(campaign: Campaign, case: str) -> Answer | None:
    """The last one that was given for the record size; None where nobody has answered."""
    for key in reversed(campaign.store.keys(campaign.keys.answers())):
        answer = decode_record(campaign.store.get(key), key, Answer)
        if case in answer.cases:
            return answer
    return None
