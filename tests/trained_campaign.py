"""What was learned from recorded repetitions, and campaigns of them, ready for the steps that learn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pandas as pd

from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.campaign.tables import TRIAL_COLUMNS
from kafka_pareto.drivers.producer.declaration import DRIVER as PRODUCER
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import dump_study
from kafka_pareto.surrogates.surrogate import Surrogate, feature_encoding, fit_surrogate
from tests.recorded import paper_study, recorded_repetitions

CASE = "8192"


def small_study(cases: Sequence[str] = (CASE,), n_estimators: int = 20, generations: int = 80) -> Study:
    """The `paper` study with few trees, where the number of trees is not the point."""
    study = paper_study()
    changes = {
        "record_sizes_bytes": [int(case) for case in cases],
        "surrogate": study.surrogate.model_copy(update={"n_estimators": n_estimators}),
        "search": study.search.model_copy(update={"generations": generations}),
    }
    return study.model_copy(update=changes)


@cache
def recorded_trials() -> pd.DataFrame:
    """The recorded trials of one record size."""
    return summarise_trials(recorded_repetitions((CASE,)), paper_study())


@cache
def surrogates() -> dict[ObjectiveName, Surrogate]:
    """Models of all four objectives, fitted to them."""
    study, trials = small_study(), recorded_trials()
    encoding = feature_encoding(study, trials)
    return {objective: fit_surrogate(study, encoding, trials, objective) for objective in PRODUCER.objective_names}


def recorded_campaign(folder: Path, study: Study, repetitions: list[Repetition], campaign_id: str = "c1") -> Campaign:
    """A campaign whose repetitions are measured and validated, in a folder."""
    campaign = Campaign(study, CampaignKeys(study.name, campaign_id), FolderStore(folder))
    campaign.store.put(campaign.keys.frozen_study(), dump_study(study).encode())
    for repetition in repetitions:
        key = f"{campaign.keys.measurements(repetition.case)}{repetition.repetition_id}.json"
        campaign.store.put(key, repetition.model_dump_json().encode())
    campaign.write_table(campaign.keys.trials(), summarise_trials(repetitions, study), TRIAL_COLUMNS)
    return campaign
