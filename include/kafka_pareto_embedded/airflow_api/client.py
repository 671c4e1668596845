"""Ask Airflow's REST API. Everything in this project that asks Airflow does so by this class."""

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

PAGE = 100  # Airflow's own limit for one answer
EVERY_DAG = "~"
_API = "/api/v2"


class AirflowClient:
    """Ask one Airflow, with the rights of the connection's login.

    Every method raises StackError if Airflow does not answer (AirflowUnreachableError) or refuses (AirflowRefusedError,
    with its status).
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
        """Return the token that the requests carry."""
        return self._connection.token()

    def send(self, method: str, path: str, body: object = None) -> httpx.Response:
        """Send one request to any path of the server and return the answer, whatever its status."""
        return self._connection.send(method, path, body)

    def ask(self, method: str, path: str, body: object = None, query: Mapping[str, Any] | None = None) -> Any:
        """Send a request that must succeed to a path of the API, and return the JSON of its answer."""
        answer = self._connection.ask(method, f"{_API}/{path}", body, query)
        return answer.json() if answer.content else None

    def health(self) -> Health:
        """Return the status of Airflow's parts."""
        return Health.model_validate(self.ask("GET", "monitor/health"))

    def create_pool(self, name: str) -> None:
        """Make a pool that lets one load at a time onto its cluster; do nothing if it exists."""
        description = "One load at a time on the Kafka cluster."
        pool = {"name": name, "slots": 1, "description": description, "include_deferred": False}
        self._connection.ask("POST", f"{_API}/pools", pool, accepted=(HTTPStatus.CONFLICT,))

    def dag(self, dag_id: str) -> Dag | None:
        """Return the DAG; None if the DAG processor has not read it."""
        answer = self._connection.ask("GET", f"{_API}/dags/{dag_id}", accepted=(HTTPStatus.NOT_FOUND,))
        return Dag.model_validate(answer.json()) if answer.is_success else None

    def choices(self, dag_id: str, parameter: str) -> list[Any]:
        """Return the values that the DAG offers for a parameter; empty if its schema has no `enum`."""
        parameters = self.ask("GET", f"dags/{dag_id}/details")["params"] or {}
        return list(parameters.get(parameter, {}).get("schema", {}).get("enum") or [])

    def import_failures(self) -> list[ImportFailure]:
        """Return the DAG files that cannot be imported."""
        return [ImportFailure.model_validate(each) for each in self.ask("GET", "importErrors")["import_errors"]]

    def set_paused(self, dag_id: str, is_paused: bool) -> None:
        """Let runs of the DAG begin, or keep them waiting."""
        self.ask("PATCH", f"dags/{dag_id}", {"is_paused": is_paused})

    def read_again(self, dag_id: str) -> None:
        """Ask Airflow to read the DAG's file now, not when its turn comes."""
        token = self.ask("GET", f"dags/{dag_id}")["file_token"]
        # Asked twice where the first answer was lost, which Airflow refuses.
        self._connection.ask("PUT", f"{_API}/parseDagFile/{token}", accepted=(HTTPStatus.CONFLICT,))

    def trigger(self, dag_id: str, parameters: Mapping[str, Any], run_id: str | None = None) -> DagRun:
        """Start a run and return it; Airflow makes an id if none is given.

        A request with an id is repeated while Airflow is in trouble: Airflow takes an id once, so no run begins twice.

        Raises:
            BadInputError: If Airflow refuses a parameter; the message names the option, its value and the rule.
        """
        body = {"logical_date": None, "conf": dict(parameters)}
        if run_id is None:
            return DagRun.model_validate(self._ask_for_run(dag_id, body).json())
        for attempt in self._connection.attempts():
            with attempt:
                # Only a second attempt may find the run: the first has made it, and its answer was lost.
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
        """Mark the run as failed, whereupon Airflow ends its tasks; do nothing if there is no such run."""
        path = f"{_API}/{_run_path(dag_id, run_id)}"
        self._connection.ask("PATCH", path, {"state": "failed"}, accepted=(HTTPStatus.NOT_FOUND,))

    def tasks(self, dag_id: str, run_id: str) -> list[TaskRun]:
        """Return all tasks of the run; a task that is not mapped yet has one entry, with index -1."""
        path = f"{_run_path(dag_id, run_id)}/taskInstances"
        return [TaskRun.of(task) for task in self._all(path, "task_instances", {"order_by": "id"})]

    def log(self, dag_id: str, run_id: str, task: TaskRun) -> list[str]:
        """Return the lines that the task's last try has logged."""
        query = {"map_index": task.map_index, "full_content": True}
        path = f"{_run_path(dag_id, run_id)}/taskInstances/{task.task_id}/logs/{task.try_number}"
        return [text for line in self.ask("GET", path, query=query)["content"] for text in log_texts(line)]

    def xcom(self, dag_id: str, run_id: str, task_id: str, key: str, map_index: int = -1) -> JsonValue:
        """Return what the task has left under this key; None if there is nothing."""
        path = f"{_API}/{_run_path(dag_id, run_id)}/taskInstances/{task_id}/xcomEntries/{key}"
        answer = self._connection.ask("GET", path, query={"map_index": map_index}, accepted=(HTTPStatus.NOT_FOUND,))
        value: JsonValue = answer.json()["value"] if answer.is_success else None
        return value

    def run_address(self, dag_id: str, run_id: str) -> str:
        """Return the address where a person sees the run."""
        return f"{self.url}/dags/{dag_id}/runs/{quote(run_id, safe='')}"

    def _all(self, path: str, key: str, query: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return every entry of a list, however many answers it takes."""
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
