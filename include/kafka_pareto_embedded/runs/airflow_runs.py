"""Runs of the DAG, by Airflow's REST API: start one, ask how it goes, read what a step said, stop it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_exponential

from kafka_pareto.campaign.manifest import Notice
from kafka_pareto.errors import BadInputError
from kafka_pareto_embedded.errors import StackError

_REQUEST_TIMEOUT_S = 20.0
_RETRY_FOR_S = 60.0
_PAGE = 100  # Airflow's own most for one answer
_WAITS_FOR_A_PERSON = "awaiting_input"


class _PassingTroubleError(Exception):
    """The server did not answer, or answered that it cannot for now."""


@dataclass(frozen=True)
class TaskRun:
    """One task of a run; a mapped one has an index, in the order of what it is mapped over, and a label as it runs."""

    task_id: str
    map_index: int
    state: str
    try_number: int
    started_at: datetime | None
    ended_at: datetime | None
    label: str | None = None

    @property
    def waits_for_a_person(self) -> bool:
        return self.state == _WAITS_FOR_A_PERSON

    @property
    def seconds(self) -> float | None:
        """How long it has taken so far."""
        if self.started_at is None:
            return None
        return ((self.ended_at or datetime.now(UTC)) - self.started_at).total_seconds()


class AirflowRuns:
    """The runs of one DAG. Passing trouble is waited out; a token that has expired is renewed."""

    def __init__(self, url: str, dag_id: str, username: str, password: str) -> None:
        self._url = url
        self._runs = f"/api/v2/dags/{dag_id}/dagRuns"
        self._login = {"username": username, "password": password}
        self._client = httpx.Client(base_url=url, timeout=_REQUEST_TIMEOUT_S, trust_env=False)

    def trigger(self, run_id: str, parameters: dict[str, Any]) -> None:
        """Starts a run under this id.

        Raises:
            BadInputError: If Airflow refuses a parameter; the message is Airflow's.
        """
        body = {"dag_run_id": run_id, "logical_date": None, "conf": parameters}
        answer = self._request("POST", self._runs, body)
        if answer.status_code in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY):
            raise BadInputError(_one_line(answer.json().get("detail", answer.text)))
        self._checked(answer)

    def read_dag_again(self) -> None:
        """Asks Airflow to read the DAG's file now: what it offers changes with the folder of studies."""
        token = self._get(self._runs.removesuffix("/dagRuns"))["file_token"]
        self._request("PUT", f"/api/v2/parseDagFile/{token}")

    def active(self) -> list[tuple[str, dict[str, Any]]]:
        """Id and parameters of the runs that are queued or running, oldest first."""
        query = f"{self._runs}?state=queued&state=running&order_by=run_after"
        return [(run["dag_run_id"], run["conf"] or {}) for run in self._get(query)["dag_runs"]]

    def newest_of(self, study: str, campaign: str) -> str:
        """The id of the campaign's latest run.

        Raises:
            StackError: If none of the latest runs is the campaign's.
        """
        for run in self._get(f"{self._runs}?order_by=-run_after&limit={_PAGE}")["dag_runs"]:
            conf = run["conf"] or {}
            if (conf.get("study"), conf.get("campaign")) == (study, campaign):
                return str(run["dag_run_id"])
        raise StackError(f"Airflow at {self._url} has no run of campaign {campaign} of {study}")

    def state(self, run_id: str) -> str:
        """`queued`, `running`, `success` or `failed`."""
        return str(self._get(self._path(run_id))["state"])

    def tasks(self, run_id: str) -> list[TaskRun]:
        """All tasks of the run; a task that is not mapped yet has one entry, with index -1."""
        found: list[dict[str, Any]] = []
        total = 1
        while len(found) < total:
            query = f"limit={_PAGE}&offset={len(found)}&order_by=id"
            page = self._get(f"{self._path(run_id)}/taskInstances?{query}")
            found += page["task_instances"]
            total = page["total_entries"] if page["task_instances"] else 0
        return [
            TaskRun(
                task_id=task["task_id"],
                map_index=task["map_index"],
                state=task["state"] or "waiting",
                try_number=task["try_number"],
                started_at=_time(task["start_date"]),
                ended_at=_time(task["end_date"]),
                label=task["rendered_map_index"],
            )
            for task in found
        ]

    def log(self, run_id: str, task: TaskRun) -> list[str]:
        """The lines that the task's last try has logged."""
        path = f"{self._path(run_id)}/taskInstances/{task.task_id}/logs/{task.try_number}"
        content = self._get(f"{path}?map_index={task.map_index}&full_content=true")["content"]
        return [text for line in content for text in _texts(line)]

    def notice(self, run_id: str, task: TaskRun) -> Notice | None:
        """What the task's step tells people, from its manifest; None where it has nothing for them, or no manifest."""
        path = f"{self._path(run_id)}/taskInstances/{task.task_id}/xcomEntries/manifest"
        answer = self._request("GET", f"{path}?map_index={task.map_index}")
        if answer.status_code == HTTPStatus.NOT_FOUND:
            return None
        found = self._checked(answer).json()["value"].get("notice")
        return None if found is None else Notice.model_validate(found)

    def stop(self, run_id: str) -> None:
        """Marks the run as failed, whereupon Airflow ends its tasks; content when there is no such run."""
        answer = self._request("PATCH", self._path(run_id), {"state": "failed"})
        if answer.status_code != HTTPStatus.NOT_FOUND:
            self._checked(answer)

    def address(self, run_id: str) -> str:
        """Where a person sees the run."""
        return f"{self._url}{self._path(run_id).replace('/api/v2', '').replace('/dagRuns/', '/runs/')}"

    def answer_address(self, run_id: str, task: TaskRun) -> str:
        """Where a person answers a task that waits for one."""
        return f"{self.address(run_id)}/tasks/{task.task_id}/required_actions?map_index={task.map_index}"

    def close(self) -> None:
        """Gives the connections back."""
        self._client.close()

    def _path(self, run_id: str) -> str:
        return f"{self._runs}/{quote(run_id, safe='')}"

    def _get(self, path: str) -> Any:
        waiting = Retrying(
            retry=retry_if_exception_type(_PassingTroubleError),
            wait=wait_exponential(max=5),
            stop=stop_after_delay(_RETRY_FOR_S),
            reraise=True,
        )
        try:
            return waiting(self._get_once, path)
        except _PassingTroubleError as error:
            raise StackError(f"{error}; look at `make status`") from error

    def _get_once(self, path: str) -> Any:
        try:
            answer = self._request("GET", path)
        except StackError as error:
            raise _PassingTroubleError(str(error)) from error
        if answer.status_code >= 500:
            raise _PassingTroubleError(f"Airflow at {self._url} is in trouble: HTTP {answer.status_code}")
        return self._checked(answer).json()

    def _request(self, method: str, path: str, body: object = None) -> httpx.Response:
        try:
            if "Authorization" not in self._client.headers:
                self._log_in()
            answer = self._client.request(method, path, json=body)
            if answer.status_code == HTTPStatus.UNAUTHORIZED:
                self._log_in()
                answer = self._client.request(method, path, json=body)
        except httpx.HTTPError as error:
            raise StackError(f"Airflow at {self._url} does not answer ({type(error).__name__})") from error
        return answer

    def _log_in(self) -> None:
        token = self._checked(self._client.post("/auth/token", json=self._login)).json()["access_token"]
        self._client.headers["Authorization"] = f"Bearer {token}"

    def _checked(self, answer: httpx.Response) -> httpx.Response:
        if answer.is_success:
            return answer
        request = answer.request
        raise StackError(
            f"Airflow at {self._url} refused {request.method} {request.url.path}: "
            f"HTTP {answer.status_code}: {_one_line(answer.text)[:300]}"
        )


def _texts(line: str | dict[str, Any]) -> list[str]:
    """A line of a log as its text, and that of an exception which Airflow itself has met; its folds are left out."""
    if isinstance(line, str):
        return [line]
    raised = [f"{error['exc_type']}: {error['exc_value']}" for error in line.get("error_detail") or []]
    return [text for text in (str(line["event"]), *raised) if not text.startswith("::")]


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _one_line(detail: object) -> str:
    return " ".join(str(detail).split())
