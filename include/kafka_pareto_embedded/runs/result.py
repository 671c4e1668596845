"""Print the result of a finished campaign, as text or for scripts."""

from __future__ import annotations

import json

from kafka_pareto.campaign.campaign import Campaign, check_campaign_id
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.listing import list_campaigns
from kafka_pareto.comparison.records import PartComparison
from kafka_pareto.errors import BadInputError
from kafka_pareto.exit_codes import EXIT_OF_OUTCOME
from kafka_pareto.report.cards import Cards
from kafka_pareto.report.outcome import junit_xml, outcome_of
from kafka_pareto.settings import Settings
from kafka_pareto.storage.store import Store, open_store
from kafka_pareto.study.compare import Compare
from kafka_pareto.study.requests import ResultForm
from kafka_pareto_embedded.runs.answer import answer_lines, whole_text

_OTHER_STORE = "for a local run, name its folder with --store"


def print_result(settings: Settings, study: str, campaign: str | None, form: ResultForm) -> int:
    """Print the campaign's result in this form; without an ID, that of the study's latest finished campaign.

    Returns:
        The exit code for its outcome: see `EXIT_OF_OUTCOME`; 0 for a comparison.

    Raises:
        BadInputError: If there is no such campaign, it has not ended, or the form is only of campaigns that tune.
    """
    store = open_store(settings)
    keys = CampaignKeys(study, check_campaign_id(campaign) if campaign else _latest(store, study))
    if store.tag(keys.report("report.html")) is None:
        raise BadInputError(
            f"--campaign: {keys.campaign}: {study} has no finished campaign with this ID; {_OTHER_STORE}"
        )
    campaign_found = Campaign.open(store, study, keys.campaign)
    if form in ("answer", "whole"):
        print(whole_text(store, keys) if form == "whole" else "\n".join(answer_lines(store, keys)))
    if isinstance(campaign_found.study, Compare):
        return _print_comparison(campaign_found, form)
    outcome = outcome_of(campaign_found.read_record(keys.report("cards.json"), Cards))
    if form == "json":
        print(outcome.model_dump_json(indent=2))
    elif form == "junit":
        print(junit_xml(outcome).decode(), end="")
    return EXIT_OF_OUTCOME[outcome.outcome]


def _print_comparison(campaign: Campaign, form: ResultForm) -> int:
    if form == "junit":
        raise BadInputError(f"--junit: {campaign.keys.study} is a comparison, which has no verdicts; use --json")
    if form == "json":
        parts = [campaign.read_record(campaign.keys.comparison(case), PartComparison) for case in campaign.study.cases]
        print(json.dumps([part.model_dump(mode="json") for part in parts], indent=2))
    return 0


def _latest(store: Store, study: str) -> str:
    for entry in list_campaigns(store):
        if entry.study == study and store.tag(CampaignKeys(study, entry.campaign).report("report.html")) is not None:
            return entry.campaign
    raise BadInputError(f"STUDY: {study}: has no finished campaign; {_OTHER_STORE}, or run it first")
