"""Run the step `design`: freeze the study, compute what the campaign will cost, and draw the design."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kafka_pareto.analysis.runnable_study import load_runnable_study
from kafka_pareto.campaign.campaign import check_campaign_id
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.drivers.common.cluster_access import servers_of_others
from kafka_pareto.errors import BadInputError
from kafka_pareto.measurement.driver_runtime import runtime_of
from kafka_pareto.settings import load_settings
from kafka_pareto.steps import design, design_comparison
from kafka_pareto.storage.store import open_store
from kafka_pareto.study.advice import load_advice
from kafka_pareto.study.compare import Compare, compare_study
from kafka_pareto.study.options import DesignOptions
from kafka_pareto.study.overrides import cluster_with, overrides_of, read_baseline, with_overrides, without_impossible
from kafka_pareto.study.sections import ForeignCluster
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import read_corpus
from kafka_pareto.study.tune import tune_study
from kafka_pareto.study.warm_start import campaigns_from
from tasks.common import CampaignOption, ManifestOption, StudyOption, run_command, run_step, with_options


@with_options(DesignOptions)
def main(
    study: StudyOption,
    campaign: CampaignOption,
    options: Callable[[], DesignOptions],
    manifest: ManifestOption = None,
) -> None:
    """Start a campaign, or resume one that was started with the same study."""

    def step() -> Manifest:
        asked, settings = options(), load_settings()
        wanted = load_runnable_study(settings.studies, study)
        adjusted = _adjusted(wanted, asked, servers_of_others(wanted, settings))
        corpus = read_corpus(adjusted, settings.studies, f"{settings.studies}/{study}.yaml")
        store, overrides, driver = open_store(settings), overrides_of(wanted, adjusted), runtime_of(adjusted)
        if isinstance(adjusted, Compare):
            possible, left_out = without_impossible(adjusted, partial(driver.fault_here, adjusted, settings))
            with driver.system(possible, settings) as system:
                changes = [*overrides, *left_out]
                return design_comparison.run(store, possible, check_campaign_id(campaign), system, changes, corpus)
        with driver.system(adjusted, settings) as system:
            tuned = tune_study(adjusted)
            advice = load_advice(settings.advice) if tuned.advice else []
            return design.run(store, tuned, check_campaign_id(campaign), system, corpus, overrides, advice)

    run_step(step, manifest)


def _adjusted(study: Study, asked: DesignOptions, servers_of_others: str) -> Study:
    cluster = asked.model_dump(include=set(ForeignCluster.model_fields), exclude_defaults=True)
    cases = asked.parts or asked.record_sizes
    return with_overrides(
        study,
        None if cases is None else list(map(str, cases)),
        asked.seed,
        asked.repetitions,
        cluster_with(study.cluster, cluster, servers_of_others),
        None if asked.warm_start is None else campaigns_from(asked.warm_start),
        asked.cool_down_s,
        None if asked.baseline is None else read_baseline(asked.baseline, "baseline").used,
        _table(asked, study),
    )


def _table(asked: DesignOptions, study: Study) -> dict[str, Any] | None:
    """Return the one table that takes the place of a comparison's parts; None where none was asked for."""
    if asked.factor is None and asked.levels is None:
        return None
    if asked.factor is None or asked.levels is None:
        raise BadInputError("factor and levels: give both, as in FACTOR=linger.ms LEVELS=0,5,20, or neither")
    return compare_study(study).table_of(asked.factor, asked.levels.split(","))


if __name__ == "__main__":
    run_command(main)
