"""A campaign of the stack in containers, run to its end although parts of the stack were taken away meanwhile."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.storage.store import open_store
from kafka_pareto.study.identifiers import TUNE_DAG_ID
from kafka_pareto_embedded.airflow_api.answers import TaskRun
from kafka_pareto_embedded.airflow_api.client import AirflowClient
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from tests.compose.phases import phase
from tests.compose.stack import ComposeStack

STUDY, CASE = "short", "1024"
_GOES_ON_WITHIN_S = 240.0
_ENDS_WITHIN_S = 900.0


@dataclass(frozen=True)
class Finished:
    """Its result.

    Attributes:
        state: Of its run in Airflow.
        tasks: By task id, the last try of each that was not skipped, as Airflow's API tells of it.
        begun_s: Unix time of the trigger; `ended_s` that of the run's end.
    """

    run_id: str
    campaign: Campaign
    state: str
    tasks: dict[str, TaskRun]
    begun_s: float
    ended_s: float


def run_disturbed(stack: ComposeStack) -> Finished:
    """Triggers the campaign, kills a broker and restarts the scheduler while it measures, and sees it end."""
    begun_s = time.time()
    with stack.login("operator") as airflow:
        conf = {"study": STUDY, "repetitions": 4}
        run_id = airflow.trigger(TUNE_DAG_ID, conf).dag_run_id
        with phase("campaign until it measures"):
            wait_until("design is done", lambda: _task(airflow, run_id, "design") == "success", _GOES_ON_WITHIN_S)
            keys = CampaignKeys(STUDY, _campaign_id(airflow, run_id))
            campaign = Campaign.open(open_store(stack.settings()), keys.study, keys.campaign)
            _wait_for_repetitions(campaign, 2)
        with phase("one broker killed, and the campaign went on"):
            restarts = stack.container("kafka-2")["RestartCount"]
            stored = _repetitions(campaign)
            stack.kill("kafka-2", "java")
            _wait_for_repetitions(campaign, stored + 2)
            wait_until("the broker is back", lambda: stack.container("kafka-2")["RestartCount"] > restarts, 60)
        with phase("scheduler restarted, and the campaign went on"):
            stored = _repetitions(campaign)
            stack.compose("restart", "--timeout", "5", "airflow-scheduler")
            _wait_for_repetitions(campaign, stored + 2)
        with phase("campaign's rest"):
            wait_until("the run has ended", lambda: airflow.run(TUNE_DAG_ID, run_id).has_ended, _ENDS_WITHIN_S)
        listed = airflow.tasks(TUNE_DAG_ID, run_id)
        tasks = {task.task_id: task for task in listed if task.state not in ("waiting", "skipped")}
        return Finished(run_id, campaign, airflow.run(TUNE_DAG_ID, run_id).state, tasks, begun_s, time.time())


def manifest(airflow: AirflowClient, run_id: str, task: str) -> dict[str, Any]:
    """The last line printed by the task's step, from Airflow's XComs."""
    found = airflow.xcom(TUNE_DAG_ID, run_id, task, "manifest")
    assert isinstance(found, dict), f"{task} has left no manifest"
    return found


def _campaign_id(airflow: AirflowClient, run_id: str) -> str:
    return str(manifest(airflow, run_id, "design")["campaign"])


def _repetitions(campaign: Campaign) -> int:
    return len(campaign.store.keys(campaign.keys.measurements(CASE)))


def _wait_for_repetitions(campaign: Campaign, count: int) -> None:
    what = f"{count} repetitions are stored"
    wait_until(what, lambda: _repetitions(campaign) >= count, _GOES_ON_WITHIN_S)


def _task(airflow: AirflowClient, run_id: str, task: str) -> str:
    return next((each.state for each in airflow.tasks(TUNE_DAG_ID, run_id) if each.task_id == task), "waiting")
