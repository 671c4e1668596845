"""The only client of Airflow's REST API in this project."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from types import TracebackType
from typing import Any
from urllib.parse import quote

import httpx
from pydantic import JsonValue

from kafka_pareto.errors import BadInputError
from kafka_pareto_embedded.airflow_api.answers import Dag, DagRun, Health, ImportFailure, TaskRun, log_texts
from kafka_pareto_embedded.airflow_api.connection import AirflowConnection
from kafka_pareto_embedded.airflow_api.refusals import in_words
from kafka_pareto_embedded.errors import AirflowRefusedError

PAGE = 100  # Airflow's limit for one response
EVERY_DAG = "~"
_API = "/api/v2"


class AirflowClient:
    """A client for one Airflow, with the rights of the connection's login.

    Every method raises a StackError: AirflowUnreachableError, or AirflowRefusedError with the status.
    """

    def __init__(self, connection: AirflowConnection) -> None:
        self._connection = connection

    def __enter__(self) -> AirflowClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    @property
    def url(self) -> str:
        """Return the address of the API server."""
        return self._connection.url

    def token(self) -> str:
        """Return the token of the requests."""
        return self._connection.token()

    def send(self, method: str, path: str, body: object = None) -> httpx.Response:
        """Send one request to any path of the server and return the response, whatever its status."""
        return self._connection.send(method, path, body)

    def ask(self, method: str, path: str, body: object = None, query: Mapping[str, Any] | None = None) -> Any:
        """Send a request that must succeed to a path of the API, and return its JSON response."""
        answer = self._connection.ask(method, f"{_API}/{path}", body, query)
        return answer.json() if answer.content else None

    def health(self) -> Health:
        """Return the status of Airflow's parts."""
        return Health.model_validate(self.ask("GET", "monitor/health"))

    def create_pool(self, name: str) -> None:
        """Create a pool that allows one load at a time on its cluster, unless it exists."""
        description = "One load at a time on the Kafka cluster."
        pool = {"name": name, "slots": 1, "description": description, "include_deferred": False}
        self._connection.ask("POST", f"{_API}/pools", pool, accepted=(HTTPStatus.CONFLICT,))

    def dag(self, dag_id: str) -> Dag | None:
        """Return the DAG; None if the DAG processor has not read it."""
        answer = self._connection.ask("GET", f"{_API}/dags/{dag_id}", accepted=(HTTPStatus.NOT_FOUND,))
        return Dag.model_validate(answer.json()) if answer.is_success else None

    def choices(self, dag_id: str, parameter: str) -> list[Any]:
        """Return the allowed values of a DAG's parameter; empty if its schema has no `enum`."""
        parameters = self.ask("GET", f"dags/{dag_id}/details")["params"] or {}
        return list(parameters.get(parameter, {}).get("schema", {}).get("enum") or [])

    def import_failures(self) -> list[ImportFailure]:
        """Return the DAG files that cannot be imported."""
        return [ImportFailure.model_validate(each) for each in self.ask("GET", "importErrors")["import_errors"]]

    def set_paused(self, dag_id: str, is_paused: bool) -> None:
        """Unpause or pause the DAG."""
        self.ask("PATCH", f"dags/{dag_id}", {"is_paused": is_paused})

    def read_again(self, dag_id: str) -> None:
        """Ask Airflow to parse the DAG's file immediately."""
        token = self.ask("GET", f"dags/{dag_id}")["file_token"]
        # Airflow refuses a repetition, which is sent if the first response was lost.
        self._connection.ask("PUT", f"{_API}/parseDagFile/{token}", accepted=(HTTPStatus.CONFLICT,))

    def trigger(self, dag_id: str, parameters: Mapping[str, Any], run_id: str | None = None) -> DagRun:
        """Start a run and return it; without an ID Airflow generates one.

        A request with an ID is retried: Airflow accepts an ID once, so no run starts twice.

        Raises:
            BadInputError: If Airflow refuses a parameter; the message names the option, its value and the rule.
        """
        body = {"logical_date": None, "conf": dict(parameters)}
        if run_id is None:
            return DagRun.model_validate(self._ask_for_run(dag_id, body).json())
        for attempt in self._connection.attempts():
            with attempt:
                # Only a retry may find the run: the first attempt created it and its response was lost.
                accepted = (HTTPStatus.CONFLICT,) if attempt.retry_state.attempt_number > 1 else ()
                answer = self._ask_for_run(dag_id, body | {"dag_run_id": run_id}, accepted)
        found = answer.status_code == HTTPStatus.CONFLICT
        return self.run(dag_id, run_id) if found else DagRun.model_validate(answer.json())

    def run(self, dag_id: str, run_id: str) -> DagRun:
        """Return the run."""
        return DagRun.model_validate(self.ask("GET", _run_path(dag_id, run_id)))

    def has_run(self, dag_id: str, run_id: str) -> bool:
        """Return whether there is such a run."""
        path = f"{_API}/{_run_path(dag_id, run_id)}"
        return self._connection.ask("GET", path, accepted=(HTTPStatus.NOT_FOUND,)).is_success

    def active_runs(self, dag_id: str) -> list[DagRun]:
        """Return the runs of the DAG, or of `EVERY_DAG`, that are queued or running, oldest first."""
        query = {"state": ["queued", "running"], "order_by": "run_after"}
        return [DagRun.model_validate(each) for each in self._all(f"dags/{dag_id}/dagRuns", "dag_runs", query)]

    def latest_runs(self, dag_id: str) -> list[DagRun]:
        """Return the latest runs, newest first."""
        found = self.ask("GET", f"dags/{dag_id}/dagRuns", query={"order_by": "-run_after", "limit": PAGE})["dag_runs"]
        return [DagRun.model_validate(each) for each in found]

    def stop(self, dag_id: str, run_id: str) -> None:
        """Mark the run as failed, so that Airflow ends its tasks; do nothing if the run does not exist."""
        path = f"{_API}/{_run_path(dag_id, run_id)}"
        self._connection.ask("PATCH", path, {"state": "failed"}, accepted=(HTTPStatus.NOT_FOUND,))

    def tasks(self, dag_id: str, run_id: str) -> list[TaskRun]:
        """Return all tasks of the run; an unexpanded mapped task has one entry, with index -1."""
        path = f"{_run_path(dag_id, run_id)}/taskInstances"
        return [TaskRun.of(task) for task in self._all(path, "task_instances", {"order_by": "id"})]

    def log(self, dag_id: str, run_id: str, task: TaskRun) -> list[str]:
        """Return the log lines of the task's last try."""
        query = {"map_index": task.map_index, "full_content": True}
        path = f"{_run_path(dag_id, run_id)}/taskInstances/{task.task_id}/logs/{task.try_number}"
        return [text for line in self.ask("GET", path, query=query)["content"] for text in log_texts(line)]

    def xcom(self, dag_id: str, run_id: str, task_id: str, key: str, map_index: int = -1) -> JsonValue:
        """Return the task's XCom under this key; None if there is none."""
        path = f"{_API}/{_run_path(dag_id, run_id)}/taskInstances/{task_id}/xcomEntries/{key}"
        answer = self._connection.ask("GET", path, query={"map_index": map_index}, accepted=(HTTPStatus.NOT_FOUND,))
        value: JsonValue = answer.json()["value"] if answer.is_success else None
        return value

    def run_address(self, dag_id: str, run_id: str) -> str:
        """Return the address of the run's page."""
        return f"{self.url}/dags/{dag_id}/runs/{quote(run_id, safe='')}"

    def _all(self, path: str, key: str, query: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return every entry of a paginated list."""
        found: list[dict[str, Any]] = []
        total = 1
        while len(found) < total:
            page = self.ask("GET", path, query={**query, "limit": PAGE, "offset": len(found)})
            found += page[key]
            total = page["total_entries"] if page[key] else 0
        return found

    def _ask_for_run(
        self, dag_id: str, body: Mapping[str, Any], accepted: tuple[HTTPStatus, ...] = ()
    ) -> httpx.Response:
        try:
            return self._connection.post_once(f"{_API}/dags/{dag_id}/dagRuns", body, accepted)
        except AirflowRefusedError as refusal:
            if refusal.status in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY):
                raise BadInputError(in_words(refusal.detail, body["conf"])) from refusal
            raise


def _run_path(dag_id: str, run_id: str) -> str:
    return f"dags/{dag_id}/dagRuns/{quote(run_id, safe='')}"
