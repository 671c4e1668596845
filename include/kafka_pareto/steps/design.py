"""Step `design`: freeze the study and its inputs, compute the plan, draw the design."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime

import pandas as pd

from kafka_pareto.campaign.advice import FollowedAdvice, follow, followed_advice
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.design_table import design_table
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.tables import DESIGN_COLUMNS, PRIOR_TRIAL_COLUMNS, require_distinct_columns
from kafka_pareto.measurement.cost import describe_plan, plan_campaign, require_consent
from kafka_pareto.measurement.driver_runtime import System, runtime_of
from kafka_pareto.rollout.versions import active_cases
from kafka_pareto.steps.freezing import freeze, is_frozen, restore_text
from kafka_pareto.storage.store import Store
from kafka_pareto.study.advice import Advice
from kafka_pareto.study.factors import Configuration, distinct
from kafka_pareto.study.overrides import Override
from kafka_pareto.study.tune import Tune
from kafka_pareto.surrogates.prior_trials import best_known, earlier_trials

log = logging.getLogger(__name__)


def run(
    store: Store,
    study: Tune,
    campaign_id: str,
    system: System,
    corpus: str | None = None,
    overrides: Sequence[Override] = (),
    advice: Sequence[Advice] = (),
) -> Manifest:
    """Start the campaign, or resume one started with the same study.

    `corpus` is the text that records are cut from, if the study names a file; `overrides` are deviations from the
    study's file, to be listed in the plan.

    Raises:
        PlanError: If the campaign may not run as planned; no study is frozen then.
        ClusterError: If the system cannot be reached.
        BadInputError: If the campaign exists and was started with another study, or a warm start names one that does
            not exist.
    """
    require_distinct_columns(study)
    keys = CampaignKeys(study.name, campaign_id)
    is_known = is_frozen(store, keys, study, corpus)
    campaign = Campaign(study, keys, store)
    plan = plan_campaign(study, runtime_of(study), active_cases(store, study.name))
    plan = plan.model_copy(update={"overrides": list(overrides)})
    log.info("%s", describe_plan(plan))
    found = system.fingerprint(campaign, study.cases[0])
    system.require_fit(plan, campaign, study.cases[0])
    require_consent(plan, study)
    if is_known:
        restore_text(campaign, corpus)
    else:
        design_table(study)  # an impossible design is rejected before the study is frozen
        if study.advice:
            campaign.write_record(keys.advice(), follow(study, advice))
        if study.warm_start is not None:
            # Frozen, so that later campaigns and passing time do not change this campaign's knowledge.
            known, trials = earlier_trials(campaign, study.warm_start, found, datetime.now(UTC))
            campaign.write_table(keys.prior_trials(), trials, PRIOR_TRIAL_COLUMNS)
            campaign.write_record(keys.prior(), known)
        freeze(campaign, corpus)
    prior = campaign.read_table(keys.prior_trials(), PRIOR_TRIAL_COLUMNS) if study.warm_start is not None else None
    best = {} if prior is None else _best_known(study, prior)
    followed = followed_advice(campaign)
    if study.advice:
        _log_advice(followed, study)
    first = {
        case: distinct([*followed.configurations(case), *best.get(case, [])])[: study.design.configurations]
        for case in study.cases
    }
    design = design_table(study, first)
    written = [campaign.write_record(keys.plan(), plan), campaign.write_table(keys.design(), design, DESIGN_COLUMNS)]
    counts = {"configurations": int((~design.is_baseline).sum()), "repetitions_planned": plan.repetitions}
    frozen = [keys.frozen_study(), *([keys.advice()] if study.advice else [])]
    if corpus is not None:
        frozen.append(keys.payload())
    if prior is not None:
        frozen += [keys.prior(), keys.prior_trials()]
        counts |= {"prior_trials": len(prior), "known_configurations": sum(len(each) for each in best.values())}
    return campaign.manifest("design", [*frozen, *written], counts)


def _log_advice(advice: FollowedAdvice, study: Tune) -> None:
    if not advice.followed:
        log.info("advice: none for driver %s", study.driver)
    for one in advice.followed:
        reasons = {each.left_out for each in one.cases if each.left_out}
        measured = sum(each.configuration is not None for each in one.cases)
        why = f"{'; not in the others' if measured else ''}: {', '.join(sorted(reasons))}" if reasons else ""
        log.info("%s: measured in %d of %d cases%s", one.advice.title, measured, len(one.cases), why)


def _best_known(study: Tune, prior: pd.DataFrame) -> dict[str, list[Configuration]]:
    """Return the best configurations of earlier campaigns by case: at most half of a design, measured again."""
    most = (study.design.configurations or 0) // 2
    return {case: best_known(study, prior, case, most) for case in study.cases}
