"""Finds champions: the registered models that predict the confirmed points best."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass

import mlflow
import pandas as pd
from mlflow import MlflowClient
from mlflow.entities.model_registry import ModelVersion

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.surrogates.scores import prediction_error
from kafka_pareto.surrogates.surrogate import FeatureEncoding, Surrogate
from kafka_pareto.tracking.connection import (
    CHAMPION,
    champion_number,
    connected,
    logger,
    registered_model_name,
    version_of,
)


@dataclass(frozen=True)
class ChampionOutcome:
    """Compares a campaign's model with the champion on the same confirmed points.

    Errors are mean absolute errors: of the logarithm for p95 latency and throughput, plain for the CVs. They are None
    where there was no champion, or none that knows these factors. `moved` says that the alias now points to `version`.
    """

    objective: ObjectiveName
    version: str
    error: float
    champion_version: str | None
    champion_error: float | None
    moved: bool


def judge_champions(campaign: Campaign, confirmation: pd.DataFrame) -> list[ChampionOutcome]:
    """Lets this campaign's models and the champions estimate the confirmed points, and moves the alias to the better.

    A champion stays unless this campaign's error is smaller. Where there is none, or none that knows these factors,
    this campaign's model becomes it.

    Args:
        campaign: The campaign that was confirmed.
        confirmation: Confirmed trials of all cases, as TRIAL_COLUMNS and one column per factor.

    Returns:
        One outcome for each objective that has a model and a confirmed point.

    Raises:
        TrackingError: If MLflow cannot be reached or refuses.
    """
    with connected() as client:
        if client is None:
            return []
        outcomes = []
        for objective in campaign.tune.objectives:
            points = confirmation[confirmation[objective].notna()]
            version = version_of(client, campaign.keys, objective)
            if version is None or points.empty:
                logger.info("%s: no model or no confirmed point; its champion stays", objective)
                continue
            outcomes.append(_judge(client, campaign.keys, objective, version, points))
        return outcomes


def _judge(
    client: MlflowClient, keys: CampaignKeys, objective: ObjectiveName, version: ModelVersion, points: pd.DataFrame
) -> ChampionOutcome:
    name, number = registered_model_name(keys, objective), str(version.version)
    error = prediction_error(_load(name, number, objective), points)
    client.log_metric(version.run_id, "confirmation_error", error)
    champion = champion_number(client, name)
    if champion == number:
        return ChampionOutcome(objective, number, error, champion, error, moved=False)
    champion_error = None
    if champion is not None:
        surrogate = _load(name, champion, objective)
        if set(surrogate.encoding.inputs()) <= set(points.columns):
            champion_error = prediction_error(surrogate, points)
            client.log_metric(version.run_id, "confirmation_error_of_champion", champion_error)
    moved = champion_error is None or error < champion_error
    if moved:
        client.set_registered_model_alias(name, CHAMPION, number)
    against = "no champion to compare" if champion_error is None else f"champion v{champion} {champion_error:.4g}"
    verdict = "is the champion now" if moved else "does not replace it"
    logger.info("%s: prediction error of v%s %.4g, %s: it %s", objective, number, error, against, verdict)
    return ChampionOutcome(objective, number, error, champion, champion_error, moved)


def _load(name: str, number: str, objective: ObjectiveName) -> Surrogate:
    with tempfile.TemporaryDirectory() as folder:
        path = mlflow.artifacts.download_artifacts(f"models:/{name}/{number}", dst_path=folder)
        metadata = mlflow.models.Model.load(path).metadata
        regressor = mlflow.xgboost.load_model(path)
    encoding = FeatureEncoding.model_validate(metadata["encoding"])
    return Surrogate(objective, encoding, metadata["log_target"], regressor)
