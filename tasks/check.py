"""Run the step `check`: read the active settings, and check whether they are comparable."""

from __future__ import annotations

from kafka_pareto.campaign.campaign import check_campaign_id
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.measurement.driver_runtime import runtime_of
from kafka_pareto.settings import load_settings
from kafka_pareto.steps import check
from kafka_pareto.storage.store import open_store
from kafka_pareto.study.study_file import load_named_study, read_corpus
from kafka_pareto.study.tune import tune_study
from tasks.common import CheckOption, StudyOption, run_command


def main(study: StudyOption, campaign: CheckOption) -> Manifest:
    """Begin or resume a check of the study's active settings."""
    settings = load_settings()
    wanted = tune_study(load_named_study(settings.studies, study))
    corpus = read_corpus(wanted, settings.studies, f"{settings.studies}/{study}.yaml")
    store = open_store(settings)
    with runtime_of(wanted).system(wanted, settings) as system:
        return check.run(store, wanted, check_campaign_id(campaign), system, corpus)


if __name__ == "__main__":
    run_command(main)
