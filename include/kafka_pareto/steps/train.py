"""Step `train`: one surrogate per objective on all trials of the campaign, judged, stored and tracked."""

from __future__ import annotations

import logging

import pandas as pd

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.tables import SCORE_COLUMNS, TRIAL_COLUMNS
from kafka_pareto.errors import BadInputError
from kafka_pareto.search.stopping import rounds_so_far
from kafka_pareto.surrogates import figures
from kafka_pareto.surrogates.scores import JudgedSurrogate, describe_scores, judge_objective
from kafka_pareto.surrogates.surrogate import SurrogateIndex, feature_encoding, importance, measured_objectives
from kafka_pareto.tracking import campaign_runs

logger = logging.getLogger(__name__)


def run(campaign: Campaign, round_number: int = 0) -> Manifest:
    """Trains, judges and stores the surrogates on all trials up to this round, then records them in MLflow.

    Raises:
        BadInputError: If no trial measured any objective.
        ArtifactError: If the trials or repetitions cannot be read.
        TrackingError: If MLflow is configured and cannot be reached; the artifacts are in the store by then.
    """
    study, keys = campaign.tune, campaign.keys
    trials = campaign.read_table(keys.trials(round_number), TRIAL_COLUMNS)
    objectives = measured_objectives(trials)
    if not objectives:
        raise BadInputError(
            f"{keys.trials(round_number)}: no trial has a valid repetition, so there is nothing to learn from"
        )
    for objective in sorted(set(study.objective_names) - set(objectives)):
        logger.info("%s: no trial has enough valid repetitions for it; it gets no surrogate", objective)

    encoding = feature_encoding(study, trials)
    repetitions = campaign.read_measurements(study.cases, range(round_number + 1))
    judged = [judge_objective(study, encoding, trials, repetitions, objective) for objective in objectives]
    scores = pd.concat([one.scores for one in judged], ignore_index=True)
    logger.info("%s", describe_scores(scores))

    figures = {one.surrogate.objective: _figures(one) for one in judged}
    files = {f"{one.surrogate.objective}.ubj": one.surrogate.to_bytes() for one in judged}
    for pictures in figures.values():
        files |= {f"figures/{name}": content for name, content in pictures.items()}
    artifacts = [keys.surrogates(name, round_number) for name in files]
    for key, content in zip(artifacts, files.values(), strict=True):
        campaign.store.put(key, content)
    scores_key = keys.surrogates("scores.parquet", round_number)
    artifacts.append(campaign.write_table(scores_key, scores, SCORE_COLUMNS, factors=False))
    index = SurrogateIndex(encoding=encoding, models={one.surrogate.objective: one.surrogate.file() for one in judged})
    artifacts.append(campaign.write_record(keys.surrogates("encoding.json", round_number), index))

    campaign_runs.log_training(campaign, judged, figures, round_number)
    if study.strategy == "rounds":
        campaign_runs.log_measured_hypervolume(campaign, round_number, _hypervolumes(campaign, round_number))
    pooled = {one.surrogate.objective: one.pooled_r2_held_out() for one in judged}
    r2 = {f"r2_held_out_{objective}": round(value, 4) for objective, value in pooled.items() if value is not None}
    return campaign.manifest("train", artifacts, {"trials": len(trials), "surrogates": len(judged), **r2})


def _hypervolumes(campaign: Campaign, round_number: int) -> dict[str, float]:
    """Returns the hypervolumes of the cases that this round measured, as the decision on the next round sees them."""
    study, keys = campaign.tune, campaign.keys
    trials_by_round = [campaign.read_table(keys.trials(number), TRIAL_COLUMNS) for number in range(round_number + 1)]
    so_far = [rounds_so_far(study, case, trials_by_round) for case in study.cases]
    volumes = {each.case: each.measured_hypervolume for each in so_far}
    return {case: of_rounds[-1] for case, of_rounds in volumes.items() if len(of_rounds) == round_number + 1}


def _figures(judged: JudgedSurrogate) -> dict[str, bytes]:
    objective = judged.surrogate.objective
    pictures = {f"{objective}_importance.png": figures.feature_importance(objective, importance(judged.surrogate))}
    if judged.held_out.empty:
        logger.info("%s: too few configurations to hold any out; nothing to judge it by", objective)
    else:
        pictures[f"{objective}_estimated_vs_measured.png"] = figures.estimated_vs_measured(
            objective, judged.held_out, judged.surrogate.predict(judged.held_out), judged.pooled_r2_held_out()
        )
    if judged.curve.empty:
        logger.info("%s: too few configurations for a learning curve", objective)
    else:
        pictures[f"{objective}_learning_curve.png"] = figures.learning_curve(objective, judged.curve)
    return pictures
