"""A campaign whose steps are pods, on a real cluster, with Airflow configured from `include/helm/values.yaml`."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from kubernetes.client import V1Pod

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.storage.store import open_store
from kafka_pareto.study.identifiers import TUNE_DAG_ID
from kafka_pareto_embedded.airflow_api.answers import TaskRun
from kafka_pareto_embedded.airflow_api.client import AirflowClient
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from tests.compose.kubernetes.pod_airflow import STUDY, PodAirflow
from tests.compose.kubernetes.release import NAMESPACE, SCHEDULER
from tests.compose.phases import phase
from tests.planned import planned_design, stored_ids

pytestmark = [pytest.mark.compose, pytest.mark.timeout(2400)]

CASE, RUN = "1024", "in_pods"
STEPS = ("design", "measure", "validate", "train", "optimize", "confirm", "report", "accept")
# The stack's brokers are not the chart's, so they count as an existing cluster.
_CONSENT = {"ceiling_mib_s": 200, "ceiling_gib": 20, "consent": True}
_PROGRESS_WITHIN_S, _ENDS_WITHIN_S, _STOPS_WITHIN_S = 120.0, 900.0, 20.0


@dataclass(frozen=True)
class FinishedCampaign:
    """A campaign, the tasks of its run by ID, the names of each step's pods, and the pod that measured."""

    campaign: Campaign
    tasks: dict[str, TaskRun]
    pods: dict[str, list[str]]
    measured_in: V1Pod


@pytest.fixture(scope="module")
def finished(airflow: PodAirflow) -> FinishedCampaign:
    """A campaign during whose measurements the scheduler's pod was force-deleted."""
    with airflow.login("operator") as client:
        with phase("kubernetes: campaign until it measures"):
            campaign = _triggered(airflow, client, RUN)
            measured = campaign.keys.measurements(CASE)

            def has_two() -> bool:
                return len(campaign.store.keys(measured)) >= 2

            wait_until("two repetitions are stored", has_two, _PROGRESS_WITHIN_S, airflow.log_hint)
            (pod,) = airflow.step_pods()
        with phase("kubernetes: scheduler's pod deleted, and the campaign's rest"):
            airflow.cluster.core.delete_namespaced_pod(f"{SCHEDULER}-0", NAMESPACE, grace_period_seconds=0)

            def has_ended() -> bool:
                return client.run(TUNE_DAG_ID, RUN).has_ended

            wait_until("the run has ended", has_ended, _ENDS_WITHIN_S, airflow.log_hint, poll_s=2)
        tasks = {task.task_id: task for task in client.tasks(TUNE_DAG_ID, RUN) if task.state != "skipped"}
        failed = [client.log(TUNE_DAG_ID, RUN, task) for task in tasks.values() if task.state == "failed"]
        state = client.run(TUNE_DAG_ID, RUN).state
    assert (failed, state) == ([], "success")
    return FinishedCampaign(campaign, tasks, {step: airflow.pods_of(step) for step in STEPS}, pod)


def _triggered(airflow: PodAirflow, client: AirflowClient, run_id: str) -> Campaign:
    """Starts a campaign with the run's ID, and waits until its design is stored."""

    def is_designed() -> bool:
        return any((task.task_id, task.state) == ("design", "success") for task in client.tasks(TUNE_DAG_ID, run_id))

    what = "Airflow has read the DAG"
    wait_until(what, lambda: client.dag(TUNE_DAG_ID) is not None, _PROGRESS_WITHIN_S, airflow.log_hint)
    conf = {"study": STUDY, "campaign": run_id, "repetitions": 4, **_CONSENT}
    client.trigger(TUNE_DAG_ID, conf, run_id)
    wait_until("the design is stored", is_designed, _PROGRESS_WITHIN_S, airflow.log_hint)
    return Campaign.open(open_store(airflow.services.settings()), STUDY, run_id)


def test_the_campaign_ends_with_a_card_and_each_step_ran_in_its_own_pod(
    airflow: PodAirflow, finished: FinishedCampaign
) -> None:
    assert finished.campaign.store.get(finished.campaign.keys.report("cards.txt"))
    assert [step for step, pods in finished.pods.items() if not pods] == []
    wait_until("the steps' pods are gone", lambda: airflow.step_pods() == [], _STOPS_WITHIN_S, airflow.log_hint)


def test_a_step_whose_scheduler_was_deleted_resumes_in_the_same_pod(finished: FinishedCampaign) -> None:
    assert finished.tasks["measure"].try_number == 2
    assert finished.pods["measure"] == [finished.measured_in.metadata.name]


def test_every_planned_repetition_is_in_the_store_exactly_once(finished: FinishedCampaign) -> None:
    stored = stored_ids(finished.campaign, finished.campaign.keys.measurements(CASE))
    assert stored == planned_design(finished.campaign, CASE)


def test_logs_and_manifests_come_back_without_secrets(airflow: PodAirflow, finished: FinishedCampaign) -> None:
    with airflow.login("viewer") as client:
        manifest = client.xcom(TUNE_DAG_ID, RUN, "validate", "manifest")
        log = "\n".join(client.log(TUNE_DAG_ID, RUN, finished.tasks["report"]))
    assert isinstance(manifest, dict)
    assert manifest["step"] == "validate"
    assert "champion for p95_latency_ms: this campaign's model" in log
    assert airflow.services.secrets_in(f"{manifest} {log}") == []


def test_a_steps_pod_has_no_service_account_token_and_no_secret_in_its_description(
    airflow: PodAirflow, finished: FinishedCampaign
) -> None:
    assert finished.measured_in.spec.automount_service_account_token is False
    assert airflow.services.secrets_in(str(finished.measured_in.to_dict())) == []


@pytest.mark.usefixtures("finished")
def test_a_stopped_runs_pod_ends_with_it(airflow: PodAirflow) -> None:
    def measures() -> bool:
        pods = airflow.step_pods()
        return any("measure" in pod.metadata.name and pod.status.phase == "Running" for pod in pods)

    with airflow.login("operator") as client:
        _triggered(airflow, client, "stopped")
        wait_until("a pod measures", measures, _PROGRESS_WITHIN_S, airflow.log_hint)
        client.stop(TUNE_DAG_ID, "stopped")
        wait_until("its pod is gone", lambda: airflow.step_pods() == [], _STOPS_WITHIN_S, airflow.log_hint)


@pytest.mark.usefixtures("finished")
def test_the_clean_up_reaches_airflows_database(airflow: PodAirflow) -> None:
    with airflow.login("operator") as client:

        def has_ended() -> bool:
            return client.run("clean_up", "cleaned").has_ended

        client.trigger("clean_up", {}, "cleaned")
        wait_until("the clean-up has ended", has_ended, _PROGRESS_WITHIN_S, airflow.log_hint)
        tasks = {task.task_id: task.state for task in client.tasks("clean_up", "cleaned")}
    assert tasks == {"clean_database": "success", "clean_up": "success"}  # without its address the first is skipped
