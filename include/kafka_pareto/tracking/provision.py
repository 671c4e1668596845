"""Create MLflow's users before its first use, each with only the permissions it needs."""

from __future__ import annotations

from http import HTTPStatus

import httpx

from kafka_pareto.errors import TrackingError

ADMIN = "admin"
STEPS_USER = "kafka-pareto"
EXPLORER_USER = "kafka-pareto-explorer"
# The steps may change all objects of these kinds, including those from before MLflow required a login.
_OF_THE_STEPS = ("experiment", "registered_model")
_USERS = "/api/2.0/mlflow/users"
_TIMEOUT_S = 30.0


def make_mlflow_users(address: str, admin_password: str, *, steps_password: str, explorer_password: str) -> None:
    """Create missing users and set all passwords; repeatable. The steps' user may write, the explorer's only read.

    Raises:
        TrackingError: If MLflow cannot be reached or refuses.
    """
    passwords = {STEPS_USER: steps_password, EXPLORER_USER: explorer_password}
    login = (ADMIN, admin_password)
    try:
        with httpx.Client(base_url=address, auth=login, timeout=_TIMEOUT_S, trust_env=False) as client:
            for user, password in passwords.items():
                known = client.get(f"{_USERS}/get", params={"username": user})
                is_new = known.status_code == HTTPStatus.NOT_FOUND
                method, path = ("POST", f"{_USERS}/create") if is_new else ("PATCH", f"{_USERS}/update-password")
                _ask(client, method, path, {"username": user, "password": password})
            for kind in _OF_THE_STEPS:
                granted = {"resource_type": kind, "resource_id": "*", "permission": "MANAGE"}
                _ask(client, "POST", "/api/3.0/mlflow/users/permissions/grant", {"username": STEPS_USER, **granted})
    except httpx.HTTPError as error:
        raise TrackingError(
            f"MLflow at {address} did not create its users ({type(error).__name__}); see its log"
        ) from error


def _ask(client: httpx.Client, method: str, path: str, body: dict[str, str]) -> None:
    answer = client.request(method, path, json=body)
    if answer.status_code == HTTPStatus.UNAUTHORIZED:
        raise TrackingError(
            f"MLflow at {client.base_url} refused the password of its user {ADMIN}; if it was changed there, "
            "set MLFLOW_ADMIN_PASSWORD to the new one (in .state/secrets.env or .env)"
        )
    if not answer.is_success and "RESOURCE_ALREADY_EXISTS" not in answer.text:
        raise TrackingError(f"MLflow at {client.base_url} refused {path}: {answer.status_code} {answer.text[:200]}")
