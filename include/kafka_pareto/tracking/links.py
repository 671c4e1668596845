"""Find a campaign's run by MLflow's REST API, without the package, whose import takes seconds."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import httpx

from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.errors import TrackingError
from kafka_pareto.settings import Settings

CAMPAIGN_TAG = "kafka_pareto.campaign"
PART_TAG = "kafka_pareto.part"
R2_VIEW = "r2"
# MLflow has two pages and shows the one for agents unless the address or the browser's storage selects the other.
_OF_MODELS = "workflowType=machine_learning"
_TIMEOUT_S = 5.0


def experiment_name(keys: CampaignKeys) -> str:
    """Return the name of the study's MLflow experiment."""
    return f"kafka-pareto/{keys.study}"


def without_credentials(uri: str) -> str:
    """Return the address without user and password."""
    parts = urlsplit(uri)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def login_refused(settings: Settings) -> str:
    """Return the message for an unknown login or missing permission."""
    who = f"the login {settings.mlflow_username}" if settings.mlflow_username else "a request without a login"
    return (
        f"MLflow at {without_credentials(settings.mlflow_tracking_uri)} refused {who}; set "
        "KAFKA_PARETO_MLFLOW_USERNAME and KAFKA_PARETO_MLFLOW_PASSWORD to a login with that permission"
    )


def run_address(settings: Settings, keys: CampaignKeys) -> str | None:
    """Return the address of the campaign's run for a person; None if MLflow has none or is not configured."""
    experiment, run_id = _found(settings, keys)
    return f"{experiment}/runs/{run_id}?{_OF_MODELS}" if run_id else None


def r2_address(settings: Settings, keys: CampaignKeys) -> str | None:
    """Return the address of the study's run list with the columns of R²; None as for `run_address`."""
    experiment, run_id = _found(settings, keys)
    return f"{experiment}/runs?viewStateShareKey={R2_VIEW}&{_OF_MODELS}" if run_id else None


def _found(settings: Settings, keys: CampaignKeys) -> tuple[str, str]:
    """Return the experiment's address and the run's id, empty without a run."""
    if not settings.mlflow_tracking_uri:
        return "", ""
    shown = without_credentials(settings.mlflow_tracking_uri).rstrip("/")
    condition = f"tags.`{CAMPAIGN_TAG}` = '{keys.campaign}' and tags.`{PART_TAG}` = 'campaign'"
    api = f"{settings.mlflow_tracking_uri.rstrip('/')}/api/2.0/mlflow"
    login = (settings.mlflow_username, settings.mlflow_password.get_secret_value())
    try:
        with httpx.Client(timeout=_TIMEOUT_S, trust_env=False, auth=login if login[0] else None) as client:
            found = client.get(f"{api}/experiments/get-by-name", params={"experiment_name": experiment_name(keys)})
            if found.status_code == HTTPStatus.NOT_FOUND:
                return "", ""
            if found.status_code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
                raise TrackingError(login_refused(settings))
            experiment_id = found.raise_for_status().json()["experiment"]["experiment_id"]
            asked = {"experiment_ids": [experiment_id], "filter": condition, "max_results": 1}
            answer: dict[str, Any] = client.post(f"{api}/runs/search", json=asked).raise_for_status().json()
    except httpx.HTTPError as error:
        raise TrackingError(f"MLflow at {shown} cannot be reached ({type(error).__name__}); is it running?") from error
    runs = answer.get("runs", [])
    seen_at = settings.mlflow_public_uri.rstrip("/") or shown
    return f"{seen_at}/#/experiments/{experiment_id}", runs[0]["info"]["run_id"] if runs else ""
