"""Connect to MLflow after the settings that must precede its import, with helpers for all kinds of runs."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus

import requests

# MLflow reads these on import: they make it fail after 30 s instead of minutes and disable telemetry.
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

from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.errors import TrackingError
from kafka_pareto.settings import load_settings
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.tracking.links import CAMPAIGN_TAG, experiment_name, login_refused, without_credentials

logger = logging.getLogger(__name__)

CHAMPION = "champion"
# The hash of the version's model in the store.
MODEL_TAG = "kafka_pareto.model_sha256"
_MOST_METRICS_IN_A_BATCH = 500
_LOGIN_REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


@contextmanager
def connected() -> Iterator[MlflowClient | None]:
    """Open a client of the configured server, None without one; MLflow's errors become a TrackingError."""
    settings = load_settings()
    uri = settings.mlflow_tracking_uri
    if not uri:
        logger.info("MLflow is not configured (KAFKA_PARETO_MLFLOW_TRACKING_URI is empty), so tracking is off")
        yield None
        return
    mlflow.set_tracking_uri(uri)
    mlflow.set_registry_uri(uri)
    if settings.mlflow_username:  # MLflow's client reads the login from the environment at each request
        os.environ["MLFLOW_TRACKING_USERNAME"] = settings.mlflow_username
        os.environ["MLFLOW_TRACKING_PASSWORD"] = settings.mlflow_password.get_secret_value()
    try:
        yield MlflowClient(uri)
    except RestException as error:
        raise TrackingError(
            f"MLflow at {without_credentials(uri)} refused: {error.error_code}: {error.message}"
        ) from error
    except (MlflowException, requests.RequestException) as error:
        if isinstance(error, MlflowException) and error.get_http_status_code() in _LOGIN_REFUSED:
            raise TrackingError(login_refused(settings)) from error
        raise TrackingError(
            f"MLflow at {without_credentials(uri)} cannot be reached ({type(error).__name__}); start it and run this "
            "step again: its results in the store are kept"
        ) from error


def registered_model_name(keys: CampaignKeys, objective: ObjectiveName) -> str:
    """Return the name of the registered model of one objective of the study."""
    return f"kafka-pareto.{keys.study}.{objective}"


def run_of(client: MlflowClient, keys: CampaignKeys, name: str, tags: dict[str, str]) -> tuple[Run, bool]:
    """Return the run with these tags in the study's experiment, and whether it is new."""
    experiment = client.get_experiment_by_name(experiment_name(keys))
    experiment_id = experiment.experiment_id if experiment else client.create_experiment(experiment_name(keys))
    found = runs_tagged(client, experiment_id, tags)
    return (found[0], False) if found else (client.create_run(experiment_id, tags=tags, run_name=name), True)


def runs_tagged(client: MlflowClient, experiment_id: str, tags: Mapping[str, str]) -> list[Run]:
    """List the experiment's runs with these tags, the oldest first."""
    condition = " and ".join(f"tags.`{name}` = '{value}'" for name, value in tags.items())
    return list(client.search_runs([experiment_id], condition, order_by=["attributes.start_time ASC"]))


def log_values(client: MlflowClient, run: Run, values: Mapping[str, float], step: int, at_s: float) -> None:
    """Add one point to each of these metrics; a repeated point has no effect."""
    log_metrics(client, run.info.run_id, [Metric(name, each, int(at_s * 1000), step) for name, each in values.items()])


def log_metrics(client: MlflowClient, run_id: str, metrics: Sequence[Metric]) -> None:
    """Add points to a run, in batches that MLflow accepts."""
    for begin in range(0, len(metrics), _MOST_METRICS_IN_A_BATCH):
        client.log_batch(run_id, metrics[begin : begin + _MOST_METRICS_IN_A_BATCH])


def version_of(client: MlflowClient, keys: CampaignKeys, objective: ObjectiveName) -> ModelVersion | None:
    """Return the campaign's newest version of the objective's model, if any."""
    versions = client.search_model_versions(f"name = '{registered_model_name(keys, objective)}'")
    own = [version for version in versions if version.tags.get(CAMPAIGN_TAG) == keys.campaign]
    return max(own, key=lambda version: int(version.version), default=None)


def champion_of(client: MlflowClient, name: str) -> ModelVersion | None:
    """Return the version that the alias points to, if any."""
    # A search, because MLflow lets only administrators get a model that does not exist.
    found = client.search_registered_models(f"name = '{name}'")
    number = found[0].aliases.get(CHAMPION) if found else None
    return None if number is None else client.get_model_version(name, number)
