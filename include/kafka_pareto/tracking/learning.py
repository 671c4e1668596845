"""Describes the last round's surrogates for people: the figures and the learning curve of each."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.tables import SCORE_COLUMNS, TRIAL_COLUMNS
from kafka_pareto.surrogates import figures
from kafka_pareto.surrogates.scores import JudgedSurrogate, learning_curve
from kafka_pareto.surrogates.surrogate import SurrogateIndex, importance, load_surrogate, split_by_configuration

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Learning:
    """Holds a surrogate, how it came to be as good as it is, and PNGs of that by file name."""

    judged: JudgedSurrogate
    curve: pd.DataFrame
    pictures: dict[str, bytes]


def describe_learning(campaign: Campaign, round_number: int) -> list[Learning]:
    """Reads the round's surrogates, draws them, and computes their learning curves.

    Raises:
        ArtifactError: If trials, scores or a model are missing, damaged or of another schema version.
    """
    study, keys = campaign.tune, campaign.keys
    index = campaign.read_record(keys.surrogates("encoding.json", round_number), SurrogateIndex)
    trials = campaign.read_table(keys.trials(round_number), TRIAL_COLUMNS)
    scores = campaign.read_table(keys.surrogates("scores.parquet", round_number), SCORE_COLUMNS, factors=False)
    found = []
    for objective in index.models:
        key = keys.surrogates(f"{objective}.ubj", round_number)
        rows = trials[trials[objective].notna()]
        judged = JudgedSurrogate(
            surrogate=load_surrogate(campaign.store.get(key), key, objective, index),
            rows=rows,
            held_out=split_by_configuration(rows, study)[1],
            scores=scores[scores["objective"] == objective],
        )
        curve = learning_curve(study, index.encoding, rows, objective, np.random.default_rng(study.seed))
        found.append(Learning(judged, curve, _pictures(judged, curve)))
    return found


def _pictures(judged: JudgedSurrogate, curve: pd.DataFrame) -> dict[str, bytes]:
    objective = judged.surrogate.objective
    pictures = {f"{objective}_importance.png": figures.feature_importance(objective, importance(judged.surrogate))}
    if judged.held_out.empty:
        logger.info("%s: too few configurations to hold any out; nothing to judge it by", objective)
    else:
        pictures[f"{objective}_estimated_vs_measured.png"] = figures.estimated_vs_measured(
            objective, judged.held_out, judged.surrogate.predict(judged.held_out), judged.pooled_r2_held_out()
        )
    if curve.empty:
        logger.info("%s: too few configurations for a learning curve", objective)
    else:
        pictures[f"{objective}_learning_curve.png"] = figures.learning_curve(objective, curve)
    return pictures
