"""Begin a campaign: the study with the user's options, and its design."""

from __future__ import annotations

from functools import partial
from typing import Any

from kafka_pareto.analysis.runnable_study import load_runnable_study
from kafka_pareto.campaign.campaign import check_campaign_id
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.errors import BadInputError
from kafka_pareto.measurement.driver_runtime import runtime_of
from kafka_pareto.settings import Settings
from kafka_pareto.storage.store import open_store
from kafka_pareto.study.advice import load_advice
from kafka_pareto.study.compare import Compare, compare_study
from kafka_pareto.study.options import DesignOptions, require_of_kind
from kafka_pareto.study.overrides import cluster_with, overrides_of, read_baseline, with_overrides, without_impossible
from kafka_pareto.study.sections import ForeignCluster
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import read_corpus
from kafka_pareto.study.topic_study import servers_of_others
from kafka_pareto.study.tune import tune_study
from kafka_pareto.study.warm_start import campaigns_from


def begin(name: str, campaign_id: str, asked: DesignOptions, settings: Settings) -> Manifest:
    """Start a campaign of the study of this name, or resume one that was started with the same study.

    Raises:
        StudyError: If the study's file is invalid.
        BadInputError: If an option does not fit the study.
        PlanError: If the campaign may not run as planned; no study is frozen then.
        ClusterError: If the system cannot be reached.
    """
    from kafka_pareto.steps import design, design_comparison  # noqa: PLC0415  (a plan alone needs neither)

    wanted = load_runnable_study(settings.studies, name)
    study = asked_for(wanted, asked, settings)
    corpus = read_corpus(study, settings.studies, f"{settings.studies}/{name}.yaml")
    store, overrides, driver = open_store(settings), overrides_of(wanted, study), runtime_of(study)
    if isinstance(study, Compare):
        possible, left_out = without_impossible(study, partial(driver.fault_here, study, settings))
        with driver.system(possible, settings) as system:
            changes = [*overrides, *left_out]
            return design_comparison.run(store, possible, check_campaign_id(campaign_id), system, changes, corpus)
    with driver.system(study, settings) as system:
        tuned = tune_study(study)
        advice = load_advice(settings.advice) if tuned.advice else []
        return design.run(store, tuned, check_campaign_id(campaign_id), system, corpus, overrides, advice)


def asked_for(study: Study, asked: DesignOptions, settings: Settings) -> Study:
    """Return the study with a campaign's options.

    Raises:
        BadInputError: If an option does not fit this study.
    """
    require_of_kind(asked.model_dump(exclude_defaults=True), study.kind, study.name)
    cluster = asked.model_dump(include=set(ForeignCluster.model_fields), exclude_defaults=True)
    cases = asked.parts or asked.record_sizes
    return with_overrides(
        study,
        None if cases is None else list(map(str, cases)),
        asked.seed,
        asked.repetitions,
        cluster_with(study.cluster, cluster, servers_of_others(study, settings)),
        None if asked.warm_start is None else campaigns_from(asked.warm_start),
        asked.cool_down_s,
        None if asked.baseline is None else read_baseline(asked.baseline, "baseline", study.client_of_file()).used,
        _table(asked, study),
    )


def _table(asked: DesignOptions, study: Study) -> dict[str, Any] | None:
    """Return the single table that replaces a comparison's parts; None if not requested."""
    if asked.factor is None and asked.levels is None:
        return None
    if asked.factor is None or asked.levels is None:
        raise BadInputError("factor and levels: give both, such as FACTOR=linger.ms LEVELS=0,5,20, or neither")
    return compare_study(study).table_of(asked.factor, asked.levels.split(","))
