"""A campaign whose steps are pods, on a real Kubernetes cluster with Airflow as the values for its chart set it up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from kubernetes.client import V1Pod

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.storage.store import open_store
from kafka_pareto.study.identifiers import TUNE_DAG_ID
from kafka_pareto_embedded.airflow_api.answers import TaskRun
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from tests.compose.kubernetes.airflow import PodAirflow
from tests.compose.phases import phase
from tests.planned import planned_design, stored_ids

pytestmark = [pytest.mark.compose, pytest.mark.timeout(2400)]

CASE = "1024"
_READ_WITHIN_S, _ENDS_WITHIN_S = 120.0, 900.0


@dataclass(frozen=True)
class FinishedCampaign:
    """A campaign's run: its state, its tasks by ID, the steps' pods by name, and its campaign."""

    state: str
    tasks: dict[str, TaskRun]
    pods: dict[str, V1Pod]
    campaign: Campaign


@pytest.fixture(scope="module")
def finished(airflow: PodAirflow) -> FinishedCampaign:
    with phase("kubernetes: campaign"), airflow.login("operator") as client:
        wait_until("Airflow has read the DAG", lambda: client.dag(TUNE_DAG_ID) is not None, _READ_WITHIN_S)
        client.trigger(TUNE_DAG_ID, {"study": "pods", "campaign": "pods"}, "pods")
        pods: dict[str, V1Pod] = {}

        def has_ended() -> bool:
            pods.update({pod.metadata.name: pod for pod in airflow.step_pods()})
            return client.run(TUNE_DAG_ID, "pods").has_ended

        wait_until("the run has ended", has_ended, _ENDS_WITHIN_S, poll_s=2)
        tasks = {task.task_id: task for task in client.tasks(TUNE_DAG_ID, "pods") if task.state != "skipped"}
        state = client.run(TUNE_DAG_ID, "pods").state
    campaign = Campaign.open(open_store(airflow.services.settings()), "pods", "pods")
    return FinishedCampaign(state, tasks, pods, campaign)


def test_it_ends_with_a_card_and_each_step_ran_in_a_pod_of_its_own(
    airflow: PodAirflow, finished: FinishedCampaign
) -> None:
    assert finished.state == "success", finished.tasks
    assert finished.campaign.store.get(finished.campaign.keys.report("cards.txt"))
    steps = ("design", "measure", "validate", "train", "optimize", "confirm", "report", "accept")
    assert {step for step in steps if any(f"step-{step}-" in pod for pod in finished.pods)} == set(steps)
    wait_until("the steps' pods are gone", lambda: airflow.step_pods() == [], 60)


def test_every_planned_repetition_is_in_the_store_exactly_once(finished: FinishedCampaign) -> None:
    stored = stored_ids(finished.campaign, finished.campaign.keys.measurements(CASE))
    assert stored == planned_design(finished.campaign, CASE)


def test_logs_and_manifests_come_back_without_any_secret(airflow: PodAirflow, finished: FinishedCampaign) -> None:
    with airflow.login("viewer") as client:
        manifest = client.xcom(TUNE_DAG_ID, "pods", "validate", "manifest")
        log = "\n".join(client.log(TUNE_DAG_ID, "pods", finished.tasks["report"]))
    assert isinstance(manifest, dict)
    assert manifest["step"] == "validate"
    assert "champion for p95_latency_ms: this campaign's model" in log
    assert airflow.secrets_in(log) == []


def test_a_steps_pod_has_no_rights_in_the_cluster_and_no_secret_in_its_description(
    airflow: PodAirflow, finished: FinishedCampaign
) -> None:
    described = str([pod.to_dict() for pod in finished.pods.values()])
    assert all(pod.spec.automount_service_account_token is False for pod in finished.pods.values())
    assert airflow.secrets_in(described) == []


@pytest.mark.usefixtures("finished")
def test_old_records_are_deleted(airflow: PodAirflow) -> None:
    with airflow.login("operator") as client:
        wait_until("Airflow has read the DAG", lambda: client.dag("clean_up") is not None, _READ_WITHIN_S)
        client.trigger("clean_up", {}, "old_records")
        wait_until("the clean-up has ended", lambda: client.run("clean_up", "old_records").has_ended, 300)
        tasks = client.tasks("clean_up", "old_records")
        failed: list[Any] = [client.log("clean_up", "old_records", task) for task in tasks if task.state != "success"]
    assert failed == []
