"""The stack in containers, for real: its doors and roles, a campaign in it, and that it leaves nothing."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import httpx
import pytest

from kafka_pareto.study.identifiers import TUNE_DAG_ID, tune_dag_of
from kafka_pareto.tracking.links import run_address
from kafka_pareto.tracking.provision import ADMIN, EXPLORER_USER
from kafka_pareto_embedded.airflow_api.client import AirflowClient
from kafka_pareto_embedded.airflow_api.connection import AirflowConnection, Login
from kafka_pareto_embedded.errors import AirflowRefusedError
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from tests.compose.comparisons import STUDIES, compared
from tests.compose.dashboards import unanswered
from tests.compose.disturbed_campaign import CASE, Finished, manifest, run_disturbed
from tests.compose.phases import phase
from tests.compose.stack import ComposeStack
from tests.compose.two_clusters import Tuned, tune_both
from tests.planned import planned_confirmation, planned_design, stored_ids

pytestmark = [pytest.mark.compose, pytest.mark.timeout(1500)]

# Runs in a step's image and network: what can be reached from there, by name and port.
_REACH = """
import json, socket, sys
def reaches(host, port):
    try:
        socket.create_connection((host, port), 3).close()
    except OSError:
        return False
    return True
print(json.dumps([reaches(host, port) for host, port in json.loads(sys.argv[1])]))
"""


@pytest.fixture(scope="module")
def finished(stack: ComposeStack) -> Finished:
    """A campaign during which one broker was killed and the scheduler restarted."""
    return run_disturbed(stack)


def test_every_service_is_healthy_and_everything_listens_on_loopback_alone(stack: ComposeStack) -> None:
    listed = stack.services()
    assert {each["Health"] for each in listed} == {"healthy"}
    assert len(listed) == 12
    published = [port for each in listed for port in each["Publishers"] or [] if port["PublishedPort"]]
    assert {port["URL"] for port in published} == {"127.0.0.1"}
    assert len(published) == 3


def test_a_viewer_may_look_but_not_trigger_and_a_stranger_may_nothing(stack: ComposeStack) -> None:
    with stack.login("viewer") as viewer:
        # Its processor is healthy before it has read the first file, and on a busy machine it takes its time.
        wait_until("Airflow has read the DAG", lambda: viewer.dag(TUNE_DAG_ID) is not None, 60)
        with pytest.raises(AirflowRefusedError) as refusal:
            viewer.trigger(TUNE_DAG_ID, {})
        assert refusal.value.status == 403
    with AirflowClient(AirflowConnection(stack.airflow_url, login=None)) as stranger:
        assert stranger.send("GET", "/api/v2/dags").status_code == 401
    with AirflowClient(AirflowConnection(stack.airflow_url, Login("admin", "admin"))) as guessing:
        with pytest.raises(AirflowRefusedError) as refusal:
            guessing.token()
        assert refusal.value.status == 401


def test_mlflow_lets_nobody_in_without_a_login_and_the_explorers_changes_nothing(stack: ComposeStack) -> None:
    experiments = f"{stack.mlflow_url}/api/2.0/mlflow/experiments"
    explorer = (EXPLORER_USER, stack.variables["MLFLOW_EXPLORER_PASSWORD"])
    for path in (stack.mlflow_url, f"{experiments}/search?max_results=1"):
        assert httpx.get(path, trust_env=False).status_code == 401
        assert httpx.get(path, auth=(ADMIN, "password1234"), trust_env=False).status_code == 401
        assert httpx.get(path, auth=explorer, trust_env=False).status_code == 200
    run = {"experiment_id": "0"}
    refused = httpx.post(f"{stack.mlflow_url}/api/2.0/mlflow/runs/create", json=run, auth=explorer, trust_env=False)
    assert refused.status_code == 403


def test_a_step_reaches_brokers_store_and_tracking_but_neither_database_engine_nor_the_world(
    stack: ComposeStack,
) -> None:
    wanted = [("kafka-1", 9092), ("minio", 9000), ("mlflow", 5000)]
    unwanted = [("postgres", 5432), ("engine", 2375), ("airflow-scheduler", 8974), ("1.1.1.1", 443)]
    asked = json.dumps(wanted + unwanted)
    answers = stack.compose("run", "--rm", "--no-TTY", "tools", "python", "-c", _REACH, asked).splitlines()[-1]
    assert json.loads(answers) == [True] * len(wanted) + [False] * len(unwanted)


def test_a_campaign_ends_well_although_a_broker_died_and_the_scheduler_was_restarted(finished: Finished) -> None:
    assert finished.state == "success", finished.tasks
    steps = ["design", "measure", "validate", "train", "optimize", "confirm", "report", "accept"]
    assert set(steps) <= finished.tasks.keys()


def test_every_planned_repetition_is_in_the_store_exactly_once(finished: Finished) -> None:
    campaign = finished.campaign
    assert stored_ids(campaign, campaign.keys.measurements(CASE)) == planned_design(campaign, CASE)
    confirmed = stored_ids(campaign, campaign.keys.confirmation(CASE, "repetitions/"))
    assert confirmed == planned_confirmation(campaign, CASE)


def test_the_topics_end_offsets_grew_by_the_records_sent(finished: Finished) -> None:
    campaign = finished.campaign
    for prefix in (campaign.keys.measurements(CASE), campaign.keys.confirmation(CASE, "repetitions/")):
        for repetition in campaign.read_repetitions(prefix):
            assert repetition.outcome == "valid", repetition
            assert repetition.number("records_sent") == repetition.number("end_offset_growth") == 1000


def test_the_report_is_in_the_store_and_the_runs_are_in_mlflow(stack: ComposeStack, finished: Finished) -> None:
    keys = finished.campaign.keys
    for name in ("report.html", "cards.txt", "cards.json"):
        assert finished.campaign.store.get(keys.report(name))
    address = run_address(stack.settings(), keys)
    assert address is not None
    experiment = address.split("/")[-3]
    login = (ADMIN, stack.variables["MLFLOW_ADMIN_PASSWORD"])
    with httpx.Client(base_url=f"{stack.mlflow_url}/api/2.0/mlflow", auth=login, trust_env=False) as mlflow:
        runs = mlflow.post("/runs/search", json={"experiment_ids": [experiment]}).raise_for_status().json()["runs"]
        assert {run["info"]["status"] for run in runs} == {"FINISHED"}
        assert len(runs) >= 3  # the campaign's own, its surrogates', its search's
        models = mlflow.get("/registered-models/search").raise_for_status().json()["registered_models"]
    assert len(models) == 4


def test_a_viewer_sees_the_campaign_in_the_explorer_with_a_link_to_mlflows_door(
    stack: ComposeStack, finished: Finished
) -> None:
    keys = finished.campaign.keys
    with stack.login("viewer") as airflow:
        view = f"/kafka-pareto/api/campaigns/{keys.prefix}"
        assert airflow.send("GET", view).raise_for_status().json()["report"] == "07_report/report.html"
        link = airflow.send("GET", f"{view}/mlflow").headers["location"]
    assert link == run_address(stack.settings(), keys)


def test_logs_and_manifests_of_the_steps_come_back_to_airflow(stack: ComposeStack, finished: Finished) -> None:
    with stack.login("viewer") as airflow:
        assert manifest(airflow, finished.run_id, "validate")["step"] == "validate"
        log = "\n".join(airflow.log(TUNE_DAG_ID, finished.run_id, finished.tasks["report"]))
    assert "champion for p95_latency_ms: this campaign's model" in log
    assert stack.secrets_in(log) == []


def test_every_panel_but_those_of_airflows_own_metrics_has_data_after_a_campaign(
    stack: ComposeStack, finished: Finished
) -> None:
    assert unanswered(stack.prometheus_url(), finished.begun_s, finished.ended_s) == []


def test_the_stack_has_recovered_after_the_disturbances(stack: ComposeStack, finished: Finished) -> None:
    assert finished.state == "success"
    wait_until("every service is healthy", lambda: {each["Health"] for each in stack.services()} == {"healthy"}, 60)


@pytest.mark.usefixtures("finished")  # until then, nothing else may load this machine
@pytest.mark.parametrize("study", STUDIES)
def test_a_comparison_with_brokers_of_its_own_ends_well(stack: ComposeStack, study: str) -> None:
    state, campaign = compared(stack, study)
    assert state == "success"
    measured = campaign.read_measurements(campaign.study.cases, [0])
    assert measured
    assert {each.configuration_id for each in measured if each.outcome == "valid"} == {
        each.configuration_id for each in measured
    }
    assert campaign.store.tag(campaign.keys.report("report.html")) is not None


@pytest.fixture(scope="module")
def tuned(stack: ComposeStack, finished: Finished) -> tuple[Tuned, Tuned]:
    """A campaign of each cluster, stopped after measuring."""
    assert finished.state == "success"  # until then, nothing else may load this machine
    return tune_both(stack)


def test_two_clusters_are_tuned_at_the_same_time_by_workers_of_their_own(
    stack: ComposeStack, tuned: tuple[Tuned, Tuned]
) -> None:
    own, second = tuned
    assert (own.measure.queue, second.measure.queue) == ("default", "kafka_second")
    workers = [
        stack.container(service)["Config"]["Hostname"] for service in ("airflow-worker", "airflow-worker-second")
    ]
    assert [own.measure.hostname, second.measure.hostname] == workers
    for one, other in ((own, second), (second, own)):
        assert one.measure.started_at
        assert other.measure.ended_at
        assert one.measure.started_at < other.measure.ended_at
    assert own.fingerprint.system["brokers"] == ["kafka-1:9092", "kafka-2:9092", "kafka-3:9092"]
    assert second.fingerprint.system["brokers"] == ["kafka-second:9092"]
    with stack.login("viewer") as airflow:
        log = "\n".join(airflow.log(tune_dag_of("second"), second.run_id, second.measure))
    assert "Running command" in log
    assert stack.secured.password not in log
    for campaign in (own.campaign, second.campaign):
        prefix = campaign.keys.measurements(CASE)
        assert stored_ids(campaign, prefix) == planned_design(campaign, CASE)
        assert {each.outcome for each in campaign.read_repetitions(prefix)} == {"valid"}


def test_a_stopped_campaign_continues_in_an_empty_stack_after_a_restore(
    stack: ComposeStack, finished: Finished, tuned: tuple[Tuned, Tuned], tmp_path: Path
) -> None:
    folder = tmp_path / "backup"
    refused = stack.make("compose-backup", folder)
    assert (refused.returncode, folder.exists()) == (2, False)
    assert "error: the stack is up (kafka-pareto-airflow-api-server-1, " in refused.stderr

    begun = tuned[0].campaign
    measured = stored_ids(begun, begun.keys.measurements(CASE))
    with phase("backup: stack down, saved, removed, restored, up"):
        stack.turn_from_celery()
        stack.compose("--profile", "*", "down", "--remove-orphans", "--timeout", "30")
        saved = stack.make("compose-backup", folder)
        assert saved.returncode == 0, saved.stderr
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stack.secrets_in(saved.stdout + saved.stderr) == []
        not_empty = stack.make("compose-restore", folder)
        assert "error: volume airflow-logs: is not empty" in not_empty.stderr
        stack.down()
        assert stack.left() == []
        restored = stack.make("compose-restore", folder)
        assert restored.returncode == 0, restored.stderr
        stack.compose("up", "--detach", "--wait", timeout_s=600)
    with phase("backup: stopped campaign continued"), stack.login("operator") as airflow:
        assert airflow.run(TUNE_DAG_ID, finished.run_id).state == "success"
        run_id = airflow.trigger(TUNE_DAG_ID, {"study": begun.keys.study, "campaign": begun.keys.campaign}).dag_run_id

        def done() -> bool:
            return any(
                (task.task_id, task.state) == ("validate", "success") for task in airflow.tasks(TUNE_DAG_ID, run_id)
            )

        wait_until("the data of the stopped campaign are validated", done, 240)
    assert stored_ids(begun, begun.keys.measurements(CASE)) == measured


def test_down_with_volumes_leaves_nothing(stack: ComposeStack) -> None:
    stack.down()
    assert stack.left() == []
