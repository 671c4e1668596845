"""Step `train`: train, judge and store one surrogate per objective on all trials of the campaign."""

from __future__ import annotations

import logging

import pandas as pd

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.tables import SCORE_COLUMNS, TRIAL_COLUMNS
from kafka_pareto.errors import BadInputError, TrackingError
from kafka_pareto.surrogates.calibration import Calibrations
from kafka_pareto.surrogates.scores import describe_scores, judge_objective
from kafka_pareto.surrogates.surrogate import SurrogateIndex, feature_encoding, measured_objectives
from kafka_pareto.tracking import campaign_runs

logger = logging.getLogger(__name__)


def run(campaign: Campaign, round_number: int = 0) -> Manifest:
    """Train, judge and store the surrogates on all trials up to this round.

    Their R² is logged to MLflow immediately, so that a campaign that fails later leaves its run; the report logs the
    models. If MLflow is down, the campaign continues and the report logs the missing metrics.

    Raises:
        BadInputError: If no trial has a measured objective.
        ArtifactError: If the trials or repetitions cannot be read.
    """
    study, keys = campaign.tune, campaign.keys
    trials = campaign.read_table(keys.trials(round_number), TRIAL_COLUMNS)
    objectives = measured_objectives(trials)
    if not objectives:
        raise BadInputError(
            f"{keys.trials(round_number)}: no trial has a valid repetition, so no surrogate can be trained"
        )
    for objective in sorted(set(study.objective_names) - set(objectives)):
        logger.info("%s: no trial has enough valid repetitions, so it gets no surrogate", objective)

    encoding = feature_encoding(study, trials)
    repetitions = campaign.read_measurements(study.cases, range(round_number + 1))
    judged = [judge_objective(study, encoding, trials, repetitions, objective) for objective in objectives]
    scores = pd.concat([one.scores for one in judged], ignore_index=True)
    logger.info("%s", describe_scores(scores))

    artifacts = [
        campaign.write(keys.surrogates(f"{one.surrogate.objective}.ubj", round_number), one.surrogate.to_bytes())
        for one in judged
    ]
    scores_key = keys.surrogates("scores.parquet", round_number)
    artifacts.append(campaign.write_table(scores_key, scores, SCORE_COLUMNS, factors=False))
    index = SurrogateIndex(encoding=encoding, models={one.surrogate.objective: one.surrogate.file() for one in judged})
    artifacts.append(campaign.write_record(keys.surrogates("encoding.json", round_number), index))

    calibrations = {one.surrogate.objective: one.calibration for one in judged if one.calibration}
    found = Calibrations(objectives=calibrations)
    artifacts.append(campaign.write_record(keys.surrogates("calibration.json", round_number), found))

    try:
        campaign_runs.log_r2(campaign, round_number)
    except TrackingError as error:
        logger.warning("%s; the campaign continues, and the report logs the missing metrics", error)
    pooled = {one.surrogate.objective: one.pooled_r2_held_out() for one in judged}
    r2 = {f"r2_held_out_{objective}": round(value, 4) for objective, value in pooled.items() if value is not None}
    return campaign.manifest("train", artifacts, {"trials": len(trials), "surrogates": len(judged), **r2})
