"""Print what a finished campaign came to, for people or for scripts."""

from __future__ import annotations

from typing import Literal

from kafka_pareto.campaign.campaign import check_campaign_id
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.listing import list_campaigns
from kafka_pareto.errors import BadInputError, MissingArtifactError
from kafka_pareto.exit_codes import EXIT_OF_OUTCOME
from kafka_pareto.report.cards import Cards
from kafka_pareto.report.outcome import junit_xml, outcome_of
from kafka_pareto.settings import Settings
from kafka_pareto.storage.record import decode_record
from kafka_pareto.storage.store import Store, open_store


def print_result(settings: Settings, study: str, campaign: str | None, form: Literal["cards", "json", "junit"]) -> int:
    """Print the campaign's result in this form; without an id, that of the study's latest campaign that has ended.

    Returns:
        The exit code that tells its outcome: see `EXIT_OF_OUTCOME`.

    Raises:
        BadInputError: If there is no such campaign, or it has not ended.
    """
    store = open_store(settings)
    keys = CampaignKeys(study, check_campaign_id(campaign) if campaign else _latest(store, study))
    key = keys.report("cards.json")
    try:
        stored = store.get(key)
    except MissingArtifactError as error:
        raise BadInputError(f"--campaign: {keys.campaign}: {study} has no such campaign that has ended") from error
    outcome = outcome_of(decode_record(stored, key, Cards))
    if form == "json":
        print(outcome.model_dump_json(indent=2))
    elif form == "junit":
        print(junit_xml(outcome).decode(), end="")
    else:
        print(store.get(keys.report("cards.txt")).decode().rstrip())
    return EXIT_OF_OUTCOME[outcome.outcome]


def _latest(store: Store, study: str) -> str:
    for entry in list_campaigns(store):
        if (entry.study, entry.state) == (study, "reported"):
            return entry.campaign
    raise BadInputError(f"--study: {study}: no campaign of it has ended")
