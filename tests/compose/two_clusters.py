"""Two clusters tuned at the same time, by Celery's workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import Fingerprint
from kafka_pareto.storage.store import open_store
from kafka_pareto.study.identifiers import tune_dag_of
from kafka_pareto_embedded.airflow_api.answers import TaskRun
from kafka_pareto_embedded.airflow_api.client import AirflowClient
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from tests.compose.phases import phase
from tests.compose.stack import ComposeStack

CASE = "1024"
_KNOWN_WITHIN_S, _MEASURED_WITHIN_S, _STOPPED_WITHIN_S = 120.0, 300.0, 60.0


@dataclass(frozen=True)
class Tuned:
    """The result of one of the two campaigns after measuring.

    Attributes:
        run_id: Of its run in Airflow.
        measure: The measure task, as Airflow's API tells of it.
    """

    run_id: str
    campaign: Campaign
    fingerprint: Fingerprint
    measure: TaskRun


class Triggered(NamedTuple):
    """A run that was triggered."""

    dag_id: str
    run_id: str


def tune_both(stack: ComposeStack) -> tuple[Tuned, Tuned]:
    """Triggers a campaign on the stack's own cluster and one on the second; stops both when they have measured."""
    with phase("celery: workers and second cluster up"):
        stack.turn_to_celery()
    with phase("celery: two campaigns measured"), stack.login("operator") as airflow:
        runs = {
            "short": _trigger(airflow, tune_dag_of(""), {"study": "short"}),
            "second": _trigger(airflow, tune_dag_of("second"), {"study": "second"}),
        }
        tuned = (_measured(stack, airflow, "short", runs["short"]), _measured(stack, airflow, "second", runs["second"]))
    with phase("celery: both campaigns stopped"), stack.login("operator") as airflow:
        for run in runs.values():
            airflow.stop(run.dag_id, run.run_id)
        wait_until("the steps of the stopped runs are gone", lambda: stack.steps() == [], _STOPPED_WITHIN_S)
    return tuned


def _trigger(airflow: AirflowClient, dag_id: str, conf: dict[str, Any]) -> Triggered:
    wait_until(f"Airflow knows {dag_id}", lambda: airflow.dag(dag_id) is not None, _KNOWN_WITHIN_S)
    return Triggered(dag_id, airflow.trigger(dag_id, conf).dag_run_id)


def _measured(stack: ComposeStack, airflow: AirflowClient, study: str, run: Triggered) -> Tuned:
    found: list[TaskRun] = []

    def has_measured() -> bool:
        tasks = airflow.tasks(run.dag_id, run.run_id)
        found[:] = [task for task in tasks if (task.task_id, task.state) == ("measure", "success")]
        return bool(found)

    wait_until(f"{study} has measured", has_measured, _MEASURED_WITHIN_S)
    manifest = airflow.xcom(run.dag_id, run.run_id, "design", "manifest")
    assert isinstance(manifest, dict)
    keys = CampaignKeys(study, str(manifest["campaign"]))
    campaign = Campaign.open(open_store(stack.settings()), keys.study, keys.campaign)
    return Tuned(run.run_id, campaign, campaign.read_record(keys.fingerprint(CASE), Fingerprint), found[0])
