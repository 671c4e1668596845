"""The first screen after a campaign: its answer."""

from __future__ import annotations

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.comparison import answer as comparison_answer
from kafka_pareto.comparison.records import PartComparison
from kafka_pareto.report import answer as tuning_answer
from kafka_pareto.report.card_layout import card_text
from kafka_pareto.report.cards import Cards
from kafka_pareto.steps.compare import accepted_repetitions
from kafka_pareto.storage.store import Store
from kafka_pareto.study.compare import Compare

_WIDTH = 80


def answer_lines(store: Store, keys: CampaignKeys) -> list[str]:
    """Return the answer of a finished campaign in 80 columns, followed by the decision card of a single case.

    Raises:
        ArtifactError: If an artifact of its report is missing or damaged.
    """
    campaign = Campaign.open(store, keys.study, keys.campaign)
    study = campaign.study
    if isinstance(study, Compare):
        parts = [campaign.read_record(keys.comparison(case), PartComparison) for case in study.cases]
        repetitions = {case: accepted_repetitions(campaign, case) for case in study.cases}
        return comparison_answer.answer_lines(study, parts, repetitions)
    cards = campaign.read_record(keys.report("cards.json"), Cards)
    answer = tuning_answer.answer_lines(cards.cards, study.declaration)
    if len(cards.cards) != 1:
        return answer
    card = card_text(cards.cards[0], cards.contexts[0], cards.campaign, _WIDTH)
    return [*answer, "", *card.splitlines()]


def whole_text(store: Store, keys: CampaignKeys) -> str:
    """Return the full cards of a campaign, or all tables of a comparison."""
    is_comparison = isinstance(Campaign.open(store, keys.study, keys.campaign).study, Compare)
    return store.get(keys.report("tables.txt" if is_comparison else "cards.txt")).decode().rstrip()
