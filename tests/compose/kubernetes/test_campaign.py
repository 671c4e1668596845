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
from kafka_pareto_embedded.airflow_api.client import AirflowClient
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from tests.compose.kubernetes.airflow import PodAirflow
from tests.compose.kubernetes.conftest import STUDY
from tests.compose.kubernetes.release import NAMESPACE, SCHEDULER
from tests.compose.phases import phase
from tests.planned import planned_design, stored_ids

pytestmark = [pytest.mark.compose, pytest.mark.timeout(2400)]

CASE, RUN = "1024", "in_pods"
# To the chart, the brokers are an existing cluster.
_CONSENT = {"ceiling_mib_s": 200, "ceiling_gib": 20, "consent": True}
_GOES_ON_WITHIN_S, _ENDS_WITHIN_S = 120.0, 900.0


@dataclass(frozen=True)
class FinishedCampaign:
    """A campaign, the tasks of its run by ID, and the pod that measured, as it was then."""

    campaign: Campaign
    tasks: dict[str, TaskRun]
    measured_in: V1Pod


@pytest.fixture(scope="module")
def finished(airflow: PodAirflow) -> FinishedCampaign:
    """A campaign during whose measurements the scheduler's pod was killed."""
    with airflow.login("operator") as client:
        with phase("kubernetes: campaign until it measures"):
            campaign = _triggered(airflow, client, RUN)
            measured = campaign.keys.measurements(CASE)
            what = "two repetitions are stored"
            wait_until(what, lambda: len(campaign.store.keys(measured)) >= 2, _GOES_ON_WITHIN_S)
            (pod,) = airflow.step_pods()
        with phase("kubernetes: scheduler's pod killed, and the campaign's rest"):
            airflow.cluster.core.delete_namespaced_pod(f"{SCHEDULER}-0", NAMESPACE, grace_period_seconds=0)
            wait_until("the run has ended", lambda: client.run(TUNE_DAG_ID, RUN).has_ended, _ENDS_WITHIN_S, poll_s=2)
        tasks = {task.task_id: task for task in client.tasks(TUNE_DAG_ID, RUN) if task.state != "skipped"}
        failed = [client.log(TUNE_DAG_ID, RUN, task) for task in tasks.values() if task.state == "failed"]
    assert failed == []
    return FinishedCampaign(campaign, tasks, pod)


def _triggered(airflow: PodAirflow, client: AirflowClient, run_id: str) -> Campaign:
    """Starts a campaign with the run's ID, and waits until its design is stored."""
    wait_until("Airflow has read the DAG", lambda: client.dag(TUNE_DAG_ID) is not None, _GOES_ON_WITHIN_S)
    conf = {"study": STUDY, "campaign": run_id, "repetitions": 4, **_CONSENT}
    client.trigger(TUNE_DAG_ID, conf, run_id)

    def is_designed() -> bool:
        return any((task.task_id, task.state) == ("design", "success") for task in client.tasks(TUNE_DAG_ID, run_id))

    wait_until("the design is stored", is_designed, _GOES_ON_WITHIN_S)
    return Campaign.open(open_store(airflow.services.settings()), STUDY, run_id)


def test_it_ends_with_a_card_and_each_step_ran_in_a_pod_of_its_own(
    airflow: PodAirflow, finished: FinishedCampaign
) -> None:
    assert finished.campaign.store.get(finished.campaign.keys.report("cards.txt"))
    steps = ("design", "measure", "validate", "train", "optimize", "confirm", "report", "accept")
    assert [step for step in steps if not airflow.pods_of(step)] == []
    wait_until("the steps' pods are gone", lambda: airflow.step_pods() == [], 60)


def test_a_step_whose_scheduler_was_killed_goes_on_in_the_same_pod(
    airflow: PodAirflow, finished: FinishedCampaign
) -> None:
    assert finished.tasks["measure"].try_number == 2
    assert airflow.pods_of("measure") == [finished.measured_in.metadata.name]


def test_every_planned_repetition_is_in_the_store_exactly_once(finished: FinishedCampaign) -> None:
    stored = stored_ids(finished.campaign, finished.campaign.keys.measurements(CASE))
    assert stored == planned_design(finished.campaign, CASE)


def test_logs_and_manifests_come_back_without_any_secret(airflow: PodAirflow, finished: FinishedCampaign) -> None:
    with airflow.login("viewer") as client:
        manifest = client.xcom(TUNE_DAG_ID, RUN, "validate", "manifest")
        log = "\n".join(client.log(TUNE_DAG_ID, RUN, finished.tasks["report"]))
    assert isinstance(manifest, dict)
    assert manifest["step"] == "validate"
    assert "champion for p95_latency_ms: this campaign's model" in log
    assert airflow.secrets_in(log) == []


def test_a_steps_pod_has_no_rights_in_the_cluster_and_no_secret_in_its_description(
    airflow: PodAirflow, finished: FinishedCampaign
) -> None:
    assert finished.measured_in.spec.automount_service_account_token is False
    assert airflow.secrets_in(str(finished.measured_in.to_dict())) == []


@pytest.mark.usefixtures("finished")
def test_a_stopped_runs_pod_ends_with_it(airflow: PodAirflow) -> None:
    with airflow.login("operator") as client:
        _triggered(airflow, client, "stopped")
        what = "a pod measures"
        wait_until(what, lambda: any("measure" in pod.metadata.name for pod in airflow.step_pods()), _GOES_ON_WITHIN_S)
        client.stop(TUNE_DAG_ID, "stopped")
        wait_until("its pod is gone", lambda: airflow.step_pods() == [], 20)


@pytest.mark.usefixtures("finished")
def test_old_records_are_deleted(airflow: PodAirflow) -> None:
    with airflow.login("operator") as client:
        client.trigger("clean_up", {}, "old_records")
        wait_until("the clean-up has ended", lambda: client.run("clean_up", "old_records").has_ended, 300)
        tasks = client.tasks("clean_up", "old_records")
        failed: list[Any] = [client.log("clean_up", "old_records", task) for task in tasks if task.state != "success"]
    assert failed == []
