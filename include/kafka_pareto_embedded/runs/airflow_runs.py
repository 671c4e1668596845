"""Start, follow, read and stop the runs of one DAG, for the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafka_pareto.campaign.manifest import Notice
from kafka_pareto_embedded.airflow_api.administrator import administrator
from kafka_pareto_embedded.airflow_api.answers import TaskRun
from kafka_pareto_embedded.airflow_api.client import AirflowClient
from kafka_pareto_embedded.errors import StackError
from kafka_pareto_embedded.stack.stack import Stack


class AirflowRuns:
    """Control the runs of one DAG."""

    def __init__(self, client: AirflowClient, dag_id: str) -> None:
        self._client = client
        self._dag_id = dag_id

    def trigger(self, run_id: str, parameters: dict[str, Any]) -> None:
        """Start a run with this ID.

        Raises:
            BadInputError: If Airflow refuses a parameter; the message names the option, its value and the rule.
        """
        self._client.trigger(self._dag_id, parameters, run_id)

    def studies(self) -> list[str]:
        """Return the studies that the DAG accepted when Airflow last parsed it."""
        return [str(study) for study in self._client.choices(self._dag_id, "study")]

    def read_dag_again(self) -> None:
        """Ask Airflow to parse the DAG's file now, to update its choices from the folder of studies."""
        self._client.read_again(self._dag_id)

    def active(self) -> list[tuple[str, dict[str, Any]]]:
        """Return the IDs and parameters of the queued and running runs, oldest first."""
        return [(run.dag_run_id, run.parameters) for run in self._client.active_runs(self._dag_id)]

    def has(self, run_id: str) -> bool:
        """Return whether a run with this ID exists."""
        return self._client.has_run(self._dag_id, run_id)

    def newest_of(self, study: str, campaign: str) -> str:
        """Return the ID of the campaign's latest run.

        Raises:
            StackError: If none of the latest runs is the campaign's.
        """
        for run in self._client.latest_runs(self._dag_id):
            if (run.parameters.get("study"), run.parameters.get("campaign")) == (study, campaign):
                return run.dag_run_id
        raise StackError(f"Airflow at {self._client.url} has no run of campaign {campaign} of study {study}")

    def state(self, run_id: str) -> str:
        """Return `queued`, `running`, `success` or `failed`."""
        return self._client.run(self._dag_id, run_id).state

    def tasks(self, run_id: str) -> list[TaskRun]:
        """Return all tasks of the run; an unexpanded mapped task has one entry, with index -1."""
        return self._client.tasks(self._dag_id, run_id)

    def log(self, run_id: str, task: TaskRun) -> list[str]:
        """Return the log lines of the task's last try."""
        return self._client.log(self._dag_id, run_id, task)

    def notice(self, run_id: str, task: TaskRun) -> Notice | None:
        """Return the notice in the manifest of the task's step; None if there is none."""
        manifest = self._client.xcom(self._dag_id, run_id, task.task_id, "manifest", task.map_index)
        notice = manifest.get("notice") if isinstance(manifest, dict) else None
        return None if notice is None else Notice.model_validate(notice)

    def exit_code(self, run_id: str, task: TaskRun) -> int | None:
        """Return the exit code of the task's step; None unless the step failed."""
        code = self._client.xcom(self._dag_id, run_id, task.task_id, "exit_code", task.map_index)
        return code if isinstance(code, int) else None

    def stop(self, run_id: str) -> None:
        """Mark the run as failed, so that Airflow ends its tasks; do nothing if the run does not exist."""
        self._client.stop(self._dag_id, run_id)

    def address(self, run_id: str) -> str:
        """Return the address of the run's page."""
        return self._client.run_address(self._dag_id, run_id)


@contextmanager
def stack_runs(stack: Stack, dag_id: str) -> Iterator[AirflowRuns]:
    """Yield the runs of a DAG of the stack, with the administrator's rights."""
    with administrator(stack) as client:
        yield AirflowRuns(client, dag_id)
