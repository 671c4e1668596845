"""The door to MLflow: what a campaign trained, searched and confirmed. The only module that imports mlflow.

One run per campaign, found again by its tags, and below it one run per objective and per searched record size. A part
that is complete is left alone, an unfinished one is written anew: a step may be retried without leaving duplicates.
Without a tracking URI nothing is tracked.
"""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import requests
import xgboost

# MLflow reads these when it is imported: it fails in half a minute instead of minutes, and phones nobody.
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "8")
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")

import mlflow
from mlflow import MlflowClient
from mlflow.entities import Metric, Run
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException, RestException

from kafka_pareto.artifacts import CampaignKeys
from kafka_pareto.campaign import Campaign
from kafka_pareto.errors import TrackingError
from kafka_pareto.goals import Objective
from kafka_pareto.settings import load_settings
from kafka_pareto.surrogate import FeatureEncoding, Surrogate
from kafka_pareto.surrogate_scores import JudgedSurrogate, prediction_error
from kafka_pareto.tracking_address import CAMPAIGN_TAG, PART_TAG, experiment_name, without_credentials

logger = logging.getLogger(__name__)

CHAMPION = "champion"
_CONTENT_TAG = "kafka_pareto.content_sha256"


@dataclass(frozen=True)
class ChampionOutcome:
    """How a campaign's model did against the champion on the same confirmed points.

    Errors are mean absolute errors: of the logarithm for p95 latency and throughput, plain for the CVs; None where
    there was no champion, or none that knows these factors. `moved` says that the alias points to `version` since.
    """

    objective: Objective
    version: str
    error: float
    champion_version: str | None
    champion_error: float | None
    moved: bool


def registered_model_name(keys: CampaignKeys, objective: Objective) -> str:
    """The registered model of one objective of the study."""
    return f"kafka-pareto.{keys.study}.{objective}"


def log_training(
    campaign: Campaign,
    judged: list[JudgedSurrogate],
    figures: Mapping[Objective, Mapping[str, bytes]],
    round_number: int = 0,
) -> None:
    """Records the trained surrogates: a run and a model version per objective, below the campaign's run.

    The version of a later round takes the place of an earlier one's: a campaign has one for each objective.

    Raises:
        TrackingError: If MLflow cannot be reached or refuses.
    """
    with connected() as client:
        if client is None:
            return
        parent = _campaign_run(client, campaign)
        for one in judged:
            _log_surrogate(client, campaign, parent, one, figures[one.surrogate.objective], round_number)
            if (r2 := one.pooled_r2_held_out()) is not None:
                name = f"r2_held_out_{one.surrogate.objective}"
                client.log_metric(parent.info.run_id, name, r2, step=round_number)
        client.set_terminated(parent.info.run_id)


def log_measured_hypervolume(campaign: Campaign, round_number: int, hypervolumes: Mapping[int, float]) -> None:
    """Records on the campaign's run what each record size has come to, with the round as the step.

    Raises:
        TrackingError: If MLflow cannot be reached or refuses.
    """
    with connected() as client:
        if client is None:
            return
        names = {f"measured_hypervolume_{size}": value for size, value in hypervolumes.items()}
        log_values(client, _campaign_run(client, campaign), names, round_number, time.time())


def log_search(campaign: Campaign, record_size_bytes: int, hypervolume: pd.DataFrame, round_number: int = 0) -> None:
    """Records a search: its parameters, and the hypervolume after each generation as a metric with steps.

    Raises:
        TrackingError: If MLflow cannot be reached or refuses.
    """
    with connected() as client:
        if client is None:
            return
        parent = _campaign_run(client, campaign)
        content = hashlib.sha256(hypervolume.to_csv().encode() + campaign.study.search.model_dump_json().encode())
        part = _part_name(f"optimize {record_size_bytes}", round_number)
        run_id = _new_part(client, parent, part, content.hexdigest())
        if run_id is None:
            return
        parameters = {**campaign.study.search.model_dump(), "record_size_bytes": record_size_bytes}
        for name, value in {**parameters, "seed": campaign.study.seed}.items():
            client.log_param(run_id, name, value)
        now_ms = int(time.time() * 1000)
        steps = zip(hypervolume["generation"], hypervolume["hypervolume"], strict=True)
        client.log_batch(run_id, [Metric("hypervolume", value, now_ms, step) for step, value in steps])
        client.set_terminated(run_id)


def log_report(campaign: Campaign, html: bytes) -> None:
    """Puts the campaign's report beside its run, over whatever report was there.

    Raises:
        TrackingError: If MLflow cannot be reached or refuses.
    """
    with connected() as client:
        if client is not None:
            client.log_text(_campaign_run(client, campaign).info.run_id, html.decode(), "report.html")


def judge_champions(campaign: Campaign, confirmation: pd.DataFrame) -> list[ChampionOutcome]:
    """Lets this campaign's models and the champions estimate the confirmed points, and moves the alias to the better.

    A champion stays unless this campaign's error is smaller. Where there is none, or none that knows these factors,
    this campaign's model becomes it.

    Args:
        campaign: The campaign that was confirmed.
        confirmation: Confirmed trials of all record sizes, as TRIAL_COLUMNS and one column per factor.

    Returns:
        One outcome for each objective that has a model and a confirmed point.

    Raises:
        TrackingError: If MLflow cannot be reached or refuses.
    """
    with connected() as client:
        if client is None:
            return []
        outcomes = []
        for objective in campaign.study.objectives:
            points = confirmation[confirmation[objective].notna()]
            version = _version_of(client, campaign.keys, objective)
            if version is None or points.empty:
                logger.info("%s: no model or no confirmed point; its champion stays", objective)
                continue
            outcomes.append(_judge(client, campaign.keys, objective, version, points))
        return outcomes


def _judge(
    client: MlflowClient, keys: CampaignKeys, objective: Objective, version: ModelVersion, points: pd.DataFrame
) -> ChampionOutcome:
    name, number = registered_model_name(keys, objective), str(version.version)
    error = prediction_error(_load(name, number, objective), points)
    client.log_metric(version.run_id, "confirmation_error", error)
    champion = _champion_number(client, name)
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


def _part_name(step_and_what: str, round_number: int) -> str:
    return f"round {round_number} {step_and_what}" if round_number else step_and_what


def _log_surrogate(
    client: MlflowClient,
    campaign: Campaign,
    parent: Run,
    judged: JudgedSurrogate,
    figures: Mapping[str, bytes],
    round_number: int,
) -> None:
    surrogate, keys = judged.surrogate, campaign.keys
    name = registered_model_name(keys, surrogate.objective)
    content = hashlib.sha256(surrogate.to_bytes() + judged.scores.to_csv().encode()).hexdigest()
    part = _part_name(f"train {surrogate.objective}", round_number)
    run_id = _new_part(client, parent, part, content)
    if run_id is None:
        return
    stale = _version_of(client, keys, surrogate.objective)
    # A champion stays until a better model is found: only `judge_champions` may replace it.
    if stale is not None and str(stale.version) != _champion_number(client, name):
        client.delete_model_version(name, stale.version)
    trials_sha256 = hashlib.sha256(campaign.store.get(keys.trials(round_number))).hexdigest()
    with mlflow.start_run(run_id=run_id):
        mlflow.log_params({**campaign.study.surrogate.model_dump(), "seed": campaign.study.seed})
        mlflow.log_params({"log_target_used": surrogate.log_target, "trials_sha256": trials_sha256})
        mlflow.log_metrics(_score_metrics(judged.scores))
        for point in judged.curve.to_dict("records"):
            values = {f"learning_curve_{side}": point[side] for side in ("r2_train", "r2_held_out")}
            mlflow.log_metrics(_finite(values), step=int(point["configurations"]))
        table = judged.rows[[*surrogate.encoding.inputs(), "configuration_id", surrogate.objective]]
        table = table.astype(dict.fromkeys(table.select_dtypes("integer").columns, float))
        dataset = mlflow.data.from_pandas(
            table,
            source=_source(campaign, round_number),
            name="03_trials",
            targets=surrogate.objective,
            digest=trials_sha256[:36],
        )
        mlflow.log_input(dataset, context="training")
        with tempfile.TemporaryDirectory() as folder:
            for file, picture in figures.items():
                (Path(folder) / file).write_bytes(picture)
            mlflow.log_artifacts(folder, "figures")
        example = surrogate.encoding.encode(judged.rows.head(3))
        model = mlflow.xgboost.log_model(
            surrogate.regressor,
            name=surrogate.objective,
            model_format="ubj",
            input_example=example,
            signature=mlflow.models.infer_signature(example, surrogate.regressor.predict(example)),
            metadata={"encoding": surrogate.encoding.model_dump(mode="json"), "log_target": surrogate.log_target},
            # Stated, since MLflow would otherwise start a second Python to find out.
            pip_requirements=[f"xgboost=={xgboost.__version__}", "scikit-learn", "pandas"],
        )
        mlflow.register_model(model.model_uri, name, await_registration_for=0, tags={CAMPAIGN_TAG: keys.campaign})


def _score_metrics(scores: pd.DataFrame) -> dict[str, float]:
    metrics = {}
    for row in scores.to_dict("records"):
        suffix = "" if pd.isna(row["record_size_bytes"]) else f"_{row['record_size_bytes']}"
        for name in (
            "r2_train",
            "r2_held_out",
            "r2_cross_validated",
            "mae_held_out",
            "rmse_held_out",
            "r2_noise_ceiling",
        ):
            metrics[f"{name}{suffix}"] = row[name]
    return _finite(metrics)


def _finite(metrics: Mapping[str, float | None]) -> dict[str, float]:
    return {name: float(value) for name, value in metrics.items() if value is not None and not pd.isna(value)}


def _source(campaign: Campaign, round_number: int) -> str:
    settings = load_settings()
    place = settings.store_folder or f"s3://{settings.s3_bucket}"
    return f"{place}/{campaign.keys.trials(round_number)}"


def _load(name: str, number: str, objective: Objective) -> Surrogate:
    with tempfile.TemporaryDirectory() as folder:
        path = mlflow.artifacts.download_artifacts(f"models:/{name}/{number}", dst_path=folder)
        metadata = mlflow.models.Model.load(path).metadata
        regressor = mlflow.xgboost.load_model(path)
    encoding = FeatureEncoding.model_validate(metadata["encoding"])
    return Surrogate(objective, encoding, metadata["log_target"], regressor)


def _version_of(client: MlflowClient, keys: CampaignKeys, objective: Objective) -> ModelVersion | None:
    versions = client.search_model_versions(f"name = '{registered_model_name(keys, objective)}'")
    own = [version for version in versions if version.tags.get(CAMPAIGN_TAG) == keys.campaign]
    return max(own, key=lambda version: int(version.version), default=None)


def _champion_number(client: MlflowClient, name: str) -> str | None:
    try:
        return str(client.get_model_version_by_alias(name, CHAMPION).version)
    except RestException as error:
        if error.error_code in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
            return None
        raise


def _campaign_run(client: MlflowClient, campaign: Campaign) -> Run:
    """The campaign's run, made when it is not there yet."""
    tags = {CAMPAIGN_TAG: campaign.keys.campaign, PART_TAG: "campaign"}
    run, is_new = run_of(client, campaign.keys, campaign.keys.campaign, tags)
    if is_new:
        study = campaign.store.get(campaign.keys.frozen_study())
        client.log_param(run.info.run_id, "study_sha256", hashlib.sha256(study).hexdigest())
    return run


def run_of(client: MlflowClient, keys: CampaignKeys, name: str, tags: dict[str, str]) -> tuple[Run, bool]:
    """The run with these tags in the study's experiment, and whether it was made just now."""
    experiment = client.get_experiment_by_name(experiment_name(keys))
    experiment_id = experiment.experiment_id if experiment else client.create_experiment(experiment_name(keys))
    found = _runs(client, experiment_id, tags)
    return (found[0], False) if found else (client.create_run(experiment_id, tags=tags, run_name=name), True)


def log_values(client: MlflowClient, run: Run, values: Mapping[str, float], step: int, at_s: float) -> None:
    """Adds one point to each of these metrics; the same point again changes nothing."""
    client.log_batch(run.info.run_id, [Metric(name, each, int(at_s * 1000), step) for name, each in values.items()])


def _new_part(client: MlflowClient, parent: Run, part: str, content_sha256: str) -> str | None:
    """A new run below the campaign's, in place of stale ones; None when the same content is there and complete."""
    tags = {CAMPAIGN_TAG: parent.data.tags[CAMPAIGN_TAG], PART_TAG: part}
    kept = False
    for run in _runs(client, parent.info.experiment_id, tags):
        complete = run.info.status == "FINISHED" and run.data.tags.get(_CONTENT_TAG) == content_sha256
        if complete and not kept:
            kept = True
        else:
            client.delete_run(run.info.run_id)
    if kept:
        return None
    tags |= {_CONTENT_TAG: content_sha256, "mlflow.parentRunId": parent.info.run_id}
    run = client.create_run(parent.info.experiment_id, tags=tags, run_name=part)
    return str(run.info.run_id)


def _runs(client: MlflowClient, experiment_id: str, tags: Mapping[str, str]) -> list[Run]:
    condition = " and ".join(f"tags.`{name}` = '{value}'" for name, value in tags.items())
    return list(client.search_runs([experiment_id], condition, order_by=["attributes.start_time ASC"]))


@contextmanager
def connected() -> Iterator[MlflowClient | None]:
    """A client of the configured server, or None where none is; MLflow's errors become one clear message."""
    uri = load_settings().mlflow_tracking_uri
    if not uri:
        logger.info("MLflow is not configured (KAFKA_PARETO_MLFLOW_TRACKING_URI is empty): nothing is tracked")
        yield None
        return
    mlflow.set_tracking_uri(uri)
    mlflow.set_registry_uri(uri)
    try:
        yield MlflowClient(uri)
    except RestException as error:
        raise TrackingError(
            f"MLflow at {without_credentials(uri)} refused: {error.error_code}: {error.message}"
        ) from error
    except (MlflowException, requests.RequestException) as error:
        raise TrackingError(
            f"MLflow at {without_credentials(uri)} cannot be reached ({type(error).__name__}); start it and run this "
            "step again: what it wrote to the store is kept"
        ) from error
