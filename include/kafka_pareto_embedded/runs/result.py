"""Print what a finished campaign came to, for people or for scripts."""

from __future__ import annotations

from typing import Literal

from kafka_pareto.campaign.campaign import Campaign, check_campaign_id
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.listing import list_campaigns
from kafka_pareto.errors import BadInputError
from kafka_pareto.exit_codes import EXIT_OF_OUTCOME
from kafka_pareto.report.cards import Cards
from kafka_pareto.report.outcome import junit_xml, outcome_of
from kafka_pareto.settings import Settings
from kafka_pareto.storage.record import decode_record
from kafka_pareto.storage.store import Store, open_store
from kafka_pareto.study.compare import Compare
from kafka_pareto_embedded.runs.answer import answer_lines, whole_text

ResultForm = Literal["answer", "whole", "json", "junit"]


def print_result(settings: Settings, study: str, campaign: str | None, form: ResultForm) -> int:
    """Print the campaign's result in this form; without an id, that of the study's latest campaign that has ended.

    Returns:
        The exit code that tells its outcome: see `EXIT_OF_OUTCOME`; 0 for a comparison.

    Raises:
        BadInputError: If there is no such campaign, it has not ended, or the form is only of campaigns that tune.
    """
    store = open_store(settings)
    keys = CampaignKeys(study, check_campaign_id(campaign) if campaign else _latest(store, study))
    if store.tag(keys.report("report.html")) is None:
        raise BadInputError(f"--campaign: {keys.campaign}: {study} has no such campaign that has ended")
    is_comparison = isinstance(Campaign.open(store, study, keys.campaign).study, Compare)
    if form in ("answer", "whole"):
        print(whole_text(store, keys) if form == "whole" else "\n".join(answer_lines(store, keys)))
    elif is_comparison:
        raise BadInputError(f"--{form}: {study} compares; the form is of campaigns that tune")
    if is_comparison:
        return 0
    key = keys.report("cards.json")
    outcome = outcome_of(decode_record(store.get(key), key, Cards))
    if form == "json":
        print(outcome.model_dump_json(indent=2))
    elif form == "junit":
        print(junit_xml(outcome).decode(), end="")
    return EXIT_OF_OUTCOME[outcome.outcome]


def _latest(store: Store, study: str) -> str:
    for entry in list_campaigns(store):
        if (entry.study, entry.state) == (study, "reported"):
            return entry.campaign
    raise BadInputError(f"STUDY: {study}: no campaign of it has ended")
