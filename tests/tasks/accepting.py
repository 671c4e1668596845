"""A reported campaign with an acceptable recommendation, for the tests of the active settings."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pandas as pd

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.records import Fingerprint
from kafka_pareto.campaign.tables import TRIAL_COLUMNS
from kafka_pareto.decision.decision import Decision
from kafka_pareto.kafka.properties_file import parse_properties
from kafka_pareto.report.cards import Cards
from kafka_pareto.rollout.renewal import Look
from kafka_pareto.rollout.versions import ActiveSettings, active_settings
from kafka_pareto.steps import accept
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.storage.store import Store
from kafka_pareto.study.options import Wanted
from tests.tasks.report_campaign import CAMPAIGN

STUDY, CASE, OTHER_CASE = "paper", "65636", "1024"
FORMS = ("application.yaml", "librdkafka.properties", "producer.properties")


def accepting_campaign(reported_store: Path, folder: Path, campaign_id: str = CAMPAIGN) -> Campaign:
    """Copy the artifacts that accepting reads, under this ID into a separate store."""
    names = ["study.yaml", "07_report/cards.json"]
    for case in (CASE, OTHER_CASE):
        names += [f"fingerprints/{case}.json", f"06_confirmation/{case}/trials.parquet"]
    for name in names:
        target = folder / STUDY / campaign_id / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(reported_store / STUDY / CAMPAIGN / name, target)
    return Campaign.open(FolderStore(folder), STUDY, campaign_id)


def in_store(campaign: Campaign, store: Store) -> Campaign:
    """The campaign as seen through another store over the same folder."""
    return Campaign(campaign.study, CampaignKeys(STUDY, campaign.keys.campaign), store)


def decision_of(campaign: Campaign, case: str = CASE) -> Decision:
    cards = campaign.read_record(campaign.keys.report("cards.json"), Cards)
    return next(decision for decision in cards.cards if decision.case == case)


def trials_of(campaign: Campaign, case: str = CASE) -> pd.DataFrame:
    return campaign.read_table(campaign.keys.confirmation(case, "trials.parquet"), TRIAL_COLUMNS)


def change_trial(campaign: Campaign, configuration_id: str, **changes: Any) -> None:
    """Another outcome of the confirmation for this configuration."""
    trials = trials_of(campaign)
    for name, value in changes.items():
        trials.loc[trials.configuration_id == configuration_id, name] = value
    campaign.write_table(campaign.keys.confirmation(CASE, "trials.parquet"), trials, TRIAL_COLUMNS)


def change_decision(campaign: Campaign, case: str = CASE, **changes: Any) -> None:
    """Another outcome of the decision for this record case."""
    key = campaign.keys.report("cards.json")
    cards = campaign.read_record(key, Cards)
    changed = [decision.model_copy(update=changes) if decision.case == case else decision for decision in cards.cards]
    campaign.write_record(key, cards.model_copy(update={"cards": changed}))


def durable_id(campaign: Campaign, case: str = CASE) -> str:
    """A confirmed configuration that promises as much as the baseline, and is not it."""
    trials = trials_of(campaign, case)
    found = trials[(trials.durability == "acks_all_idempotent") & ~trials.is_baseline].configuration_id
    return str(min(found))


def other_id(campaign: Campaign) -> str:
    """Another confirmed one, which promises less."""
    trials = trials_of(campaign)
    return str(min(trials[trials.durability != "acks_all_idempotent"].configuration_id))


def recommend(campaign: Campaign, configuration_id: str, case: str = CASE) -> None:
    """The campaign recommends this confirmed configuration."""
    trials = trials_of(campaign, case).set_index("configuration_id")
    row = {str(name): value for name, value in trials.astype(object).loc[configuration_id].items()}
    properties = campaign.study.properties({name: row[name] for name in campaign.study.factors})
    gains = decision_of(campaign, case).gains
    change_decision(
        campaign,
        case,
        verdict="recommended",
        gains=[gain.model_copy(update={"resolution": "better"}) for gain in gains],
        recommended_configuration_id=configuration_id,
        pick_configuration_id=configuration_id,
        pick_properties=properties,
        pick_durability=row["durability"],
        weaker_than_baseline=row["durability"] != "acks_all_idempotent",
    )


def exported(campaign: Campaign, form: str = "producer.properties", case: str = CASE) -> dict[str, str]:
    """Read the active settings from a client's file."""
    return parse_properties(campaign.store.get(f"_in_force/{STUDY}/{case}/{form}").decode())


def newest(campaign: Campaign, case: str = CASE) -> ActiveSettings:
    """The active settings."""
    found = active_settings(campaign.store, STUDY, case)
    assert found
    return found


def measured_on(campaign: Campaign) -> Fingerprint:
    """The cluster as the campaign found it."""
    return campaign.read_record(campaign.keys.fingerprint(CASE), Fingerprint)


def accepted(campaign: Campaign, wanted: Wanted, look: Look = measured_on) -> Manifest:
    """Run the step on this cluster."""
    return accept.run(campaign, wanted, look)


def pick(configuration_id: str, case: str = CASE) -> Wanted:
    """Alice wants this one."""
    return Wanted(case=case, configuration=configuration_id, by="alice")
