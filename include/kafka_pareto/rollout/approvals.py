"""Keeps every answer that people gave about a campaign's recommendations, and what they were shown beside the cards."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
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


class Changes(Record):
    """Holds by case what has changed of the system since a campaign measured it, as a person is shown it."""

    cases: dict[str, list[str]]


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


def keep_changes(campaign: Campaign, cases: Mapping[str, Sequence[str]]) -> tuple[str, str]:
    """Stores what has changed, and returns its key and the name by which an answer says that it was seen."""
    changes = Changes(cases={case: list(found) for case, found in cases.items()})
    name = sha256(json.dumps(changes.cases, sort_keys=True).encode()).hexdigest()[:10]
    return campaign.write_record(campaign.keys.changes(name), changes), name


def changes_shown(campaign: Campaign, name: str) -> dict[str, list[str]]:
    """Returns by case the changes that a person was shown under this name; none without a name.

    Raises:
        MissingArtifactError: If nobody was ever shown any under this name.
    """
    return campaign.read_record(campaign.keys.changes(name), Changes).cases if name else {}
