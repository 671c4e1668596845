"""Draw figures and learning curves of a round's surrogates."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.tables import SCORE_COLUMNS, TRIAL_COLUMNS
from kafka_pareto.study.tune import Tune
from kafka_pareto.surrogates import figures
from kafka_pareto.surrogates.scores import JudgedSurrogate, learning_curve
from kafka_pareto.surrogates.surrogate import SurrogateIndex, importance, load_surrogate, split_by_configuration

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Learning:
    """A surrogate's learning curve, and PNGs by file name."""

    curve: pd.DataFrame
    pictures: dict[str, bytes]


def stored_surrogates(campaign: Campaign, round_number: int) -> list[JudgedSurrogate]:
    """Read the round's surrogates with their trials and scores."""
    study, keys = campaign.tune, campaign.keys
    index = campaign.read_record(keys.surrogates("encoding.json", round_number), SurrogateIndex)
    trials = campaign.read_table(keys.trials(round_number), TRIAL_COLUMNS)
    scores = campaign.read_table(keys.surrogates("scores.parquet", round_number), SCORE_COLUMNS, factors=False)
    found = []
    for objective in index.models:
        key = keys.surrogates(f"{objective}.ubj", round_number)
        rows = trials[trials[objective].notna()]
        found.append(
            JudgedSurrogate(
                surrogate=load_surrogate(campaign.store.get(key), key, objective, index),
                rows=rows,
                held_out=split_by_configuration(rows, study)[1],
                scores=scores[scores["objective"] == objective],
            )
        )
    return found


def describe_learning(study: Tune, judged: JudgedSurrogate) -> Learning:
    """Compute a surrogate's learning curve, which takes seconds, and draw it and the estimates."""
    surrogate, generator = judged.surrogate, np.random.default_rng(study.seed)
    curve = learning_curve(study, surrogate.encoding, judged.rows, surrogate.objective, generator)
    return Learning(curve, _pictures(judged, curve))


def _pictures(judged: JudgedSurrogate, curve: pd.DataFrame) -> dict[str, bytes]:
    objective = judged.surrogate.objective
    pictures = {f"{objective}_importance.png": figures.feature_importance(objective, importance(judged.surrogate))}
    if judged.held_out.empty:
        logger.info("%s: too few configurations for a held-out score", objective)
    else:
        pictures[f"{objective}_estimated_vs_measured.png"] = figures.estimated_vs_measured(
            objective, judged.held_out, judged.surrogate.predict(judged.held_out), judged.pooled_r2_held_out()
        )
    if curve.empty:
        logger.info("%s: too few configurations for a learning curve", objective)
    else:
        pictures[f"{objective}_learning_curve.png"] = figures.learning_curve(objective, curve)
    return pictures
