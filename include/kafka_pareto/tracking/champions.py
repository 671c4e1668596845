"""Find champions: the registered models that predict the confirmed points best.

MLflow only names the champion. Its model is read from the store, checked by its hash, in UBJ format: a model in MLflow
may contain code that would run with the permissions of a step.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
from mlflow import MlflowClient
from mlflow.entities.model_registry import ModelVersion

from kafka_pareto.campaign.campaign import Campaign, check_campaign_id
from kafka_pareto.errors import ArtifactError, BadInputError
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.surrogates.scores import prediction_error
from kafka_pareto.surrogates.surrogate import Surrogate, SurrogateIndex, load_surrogate
from kafka_pareto.tracking.connection import (
    CHAMPION,
    MODEL_TAG,
    champion_of,
    connected,
    logger,
    registered_model_name,
    version_of,
)
from kafka_pareto.tracking.links import CAMPAIGN_TAG


@dataclass(frozen=True)
class ChampionOutcome:
    """A campaign's model compared with the champion on the same confirmed points.

    Errors are mean absolute errors: of the logarithm for means, plain for CVs. They are None without a champion, or if
    the champion does not know these factors or its model is not in the store. If `moved`, the alias now points to
    `version`.
    """

    objective: ObjectiveName
    version: str
    error: float
    champion_version: str | None
    champion_error: float | None
    moved: bool


def judge_champions(campaign: Campaign, confirmation: pd.DataFrame) -> list[ChampionOutcome]:
    """Compare this campaign's models with the champions on confirmed points, and move the alias to the better.

    A champion stays unless this campaign's error is smaller. A champion that does not know these factors or is not in
    the store is replaced. `confirmation` holds confirmed trials of all cases. Objectives without a model or a confirmed
    point are skipped.
    """
    with connected() as client:
        if client is None:
            return []
        outcomes = []
        for objective in campaign.tune.objectives:
            points = confirmation[confirmation[objective].notna()]
            version = version_of(client, campaign.keys, objective)
            if version is None or points.empty:
                logger.info("%s: no model or no confirmed point, so the champion is unchanged", objective)
                continue
            outcomes.append(_judge(client, campaign, objective, version, points))
        return outcomes


def _judge(
    client: MlflowClient, campaign: Campaign, objective: ObjectiveName, version: ModelVersion, points: pd.DataFrame
) -> ChampionOutcome:
    name, number = registered_model_name(campaign.keys, objective), str(version.version)
    error = prediction_error(_stored(campaign, objective), points)
    client.log_metric(version.run_id, "confirmation_error", error)
    current = champion_of(client, name)
    champion = None if current is None else str(current.version)
    if champion == number:
        return ChampionOutcome(objective, number, error, champion, error, moved=False)
    surrogate = None if current is None else _named_by(current, campaign, objective)
    champion_error = None
    if surrogate is not None and set(surrogate.encoding.inputs()) <= set(points.columns):
        champion_error = prediction_error(surrogate, points)
        client.log_metric(version.run_id, "confirmation_error_of_champion", champion_error)
    moved = champion_error is None or error < champion_error
    if moved:
        client.set_registered_model_alias(name, CHAMPION, number)
    against = "no champion to compare" if champion_error is None else f"champion v{champion} {champion_error:.4g}"
    verdict = "is the new champion" if moved else "does not replace the champion"
    logger.info("%s: v%s has prediction error %.4g, %s; it %s", objective, number, error, against, verdict)
    return ChampionOutcome(objective, number, error, champion, champion_error, moved)


def _named_by(version: ModelVersion, campaign: Campaign, objective: ObjectiveName) -> Surrogate | None:
    """Return the store's model for an MLflow version; None, with the reason logged, if there is none.

    Only the name comes from MLflow; the content comes from the store.
    """
    try:
        named = check_campaign_id(version.tags.get(CAMPAIGN_TAG, ""))
        other = Campaign.open(campaign.store, campaign.keys.study, named)
        return _stored(other, objective, version.tags.get(MODEL_TAG, "none"))
    except (ArtifactError, BadInputError) as error:
        logger.warning("%s: champion v%s is not used: %s", objective, version.version, error)
        return None


def _stored(campaign: Campaign, objective: ObjectiveName, expected_sha256: str | None = None) -> Surrogate:
    """Read the model of a campaign's last round from the store."""
    keys, number = campaign.keys, campaign.last_round()
    index = campaign.read_record(keys.surrogates("encoding.json", number), SurrogateIndex)
    key = keys.surrogates(f"{objective}.ubj", number)
    known = index.models.get(objective)
    if known is None:
        raise ArtifactError(f"{key}: campaign {keys.campaign} has no model for this objective")
    if expected_sha256 not in (None, known.sha256):
        raise ArtifactError(f"{key}: is a different model: its SHA-256 is {known.sha256}, MLflow has {expected_sha256}")
    return load_surrogate(campaign.store.get(key), key, objective, index)
