"""Store answers to a campaign's recommendations and the changes shown with each question."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Literal

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.storage.record import Record, decode_record


class Answer(Record):
    """A person's answer to the recommendations for these cases."""

    answer: Literal["approve", "reject"]
    by: str
    reason: str
    cases: list[str]
    at: datetime


class Changes(Record):
    """Changes of the system since a campaign measured it, by case, as shown to a person."""

    cases: dict[str, list[str]]


def last_answer(campaign: Campaign, case: str) -> Answer | None:
    """Return the last answer for the case; None without any."""
    for key in reversed(campaign.store.keys(campaign.keys.answers())):
        answer = decode_record(campaign.store.get(key), key, Answer)
        if case in answer.cases:
            return answer
    return None


def keep_changes(campaign: Campaign, cases: Mapping[str, Sequence[str]]) -> tuple[str, str]:
    """Store the changes; return their key and the name by which an answer refers to them."""
    changes = Changes(cases={case: list(found) for case, found in cases.items()})
    name = sha256(json.dumps(changes.cases, sort_keys=True).encode()).hexdigest()[:10]
    return campaign.write_record(campaign.keys.changes(name), changes), name


def changes_shown(campaign: Campaign, name: str) -> dict[str, list[str]]:
    """Return the changes shown under this name, by case; empty without a name.

    Raises:
        MissingArtifactError: If no changes were shown under this name.
    """
    return campaign.read_record(campaign.keys.changes(name), Changes).cases if name else {}
