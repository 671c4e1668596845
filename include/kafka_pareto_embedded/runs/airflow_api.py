"""What the stack asks of Airflow: its database at the first start, then its health, its pool and its DAG by the API."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import httpx

from kafka_pareto.study.identifiers import TUNE_DAG_ID
from kafka_pareto_embedded.errors import StackError
from kafka_pareto_embedded.programs.programs import airflow_environment
from kafka_pareto_embedded.stack.stack import Stack

_MIGRATION_TIMEOUT_S = 180
_REQUEST_TIMEOUT_S = 20.0
_PARTS = ("metadatabase", "scheduler", "dag_processor", "triggerer")


def migrate_database(stack: Stack) -> None:
    """Brings the database to the installed version, once for each version.

    Raises:
        StackError: If Airflow cannot.
    """
    database = stack.state / "airflow" / "airflow.db"
    migrated = database.with_name("migrated-to")
    version = importlib.metadata.version("apache-airflow-core")
    if migrated.exists() and migrated.read_text(encoding="utf-8") == version:
        return
    if not migrated.exists():
        _remove_half_made(database)
    log = stack.logs / "airflow-db-migrate.log"
    try:
        with log.open("wb") as output:
            done = subprocess.run(
                [sys.executable, "-m", "airflow", "db", "migrate"],
                env=airflow_environment(stack),
                cwd=database.parent,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=_MIGRATION_TIMEOUT_S,
                check=False,
            )
    except subprocess.TimeoutExpired as error:
        raise StackError(
            f"Airflow did not prepare its database {database} within {_MIGRATION_TIMEOUT_S} s; see {log}"
        ) from error
    if done.returncode != 0:
        raise StackError(f"Airflow could not prepare its database {database}; see {log}")
    migrated.write_text(version, encoding="utf-8")


def is_healthy(stack: Stack) -> bool:
    """Whether the API server answers and all other parts have a fresh heartbeat."""
    try:
        answer = httpx.get(f"{stack.airflow_url}/api/v2/monitor/health", timeout=_REQUEST_TIMEOUT_S, trust_env=False)
        health = answer.raise_for_status().json()
    except (httpx.HTTPError, ValueError):
        return False
    return all((health.get(part) or {}).get("status") == "healthy" for part in _PARTS)


class AirflowApi:
    """Airflow's REST API, as the stack's administrator."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._client = httpx.Client(base_url=stack.airflow_url, timeout=_REQUEST_TIMEOUT_S, trust_env=False)
        login = {"username": stack.credentials.airflow_admin_user, "password": stack.credentials.airflow_admin_password}
        token = self._ask("POST", "/auth/token", json=login).json()["access_token"]
        self._client.headers["Authorization"] = f"Bearer {token}"

    def create_pool(self, name: str) -> None:
        """Makes a pool that lets one load at a time onto its cluster; content when it is there."""
        pool = {
            "name": name,
            "slots": 1,
            "description": "One load at a time on the Kafka cluster.",
            "include_deferred": False,
        }
        self._ask("POST", "/api/v2/pools", json=pool, accepted=(409,))

    def has_dag(self) -> bool:
        """Whether the DAG processor has read the DAG.

        Raises:
            StackError: If it cannot be imported.
        """
        if self._ask("GET", f"/api/v2/dags/{TUNE_DAG_ID}", accepted=(404,)).is_success:
            return True
        errors = self._ask("GET", "/api/v2/importErrors").json()["import_errors"]
        if errors:
            said = str(errors[0]["stack_trace"]).strip().splitlines()[-1]
            raise StackError(f"Airflow cannot import {errors[0]['filename']}: {said}; mend it, then start again")
        return False

    def unpause_dag(self) -> None:
        """Lets runs of the DAG begin."""
        self._ask("PATCH", f"/api/v2/dags/{TUNE_DAG_ID}", json={"is_paused": False})

    def close(self) -> None:
        """Gives the connections back."""
        self._client.close()

    def _ask(self, method: str, path: str, json: object = None, accepted: tuple[int, ...] = ()) -> httpx.Response:
        try:
            answer = self._client.request(method, path, json=json)
        except httpx.HTTPError as error:
            raise StackError(f"Airflow at {self._stack.airflow_url} did not answer {path}: {error}") from error
        if answer.is_success or answer.status_code in accepted:
            return answer
        raise StackError(
            f"Airflow at {self._stack.airflow_url} refused {method} {path}: HTTP {answer.status_code}; "
            f"see {self._stack.logs / 'airflow-api-server.log'}"
        )


def _remove_half_made(database: Path) -> None:
    """A first migration that was cut short leaves tables without a version; begin anew."""
    for path in database.parent.glob(f"{database.name}*"):
        path.unlink()
