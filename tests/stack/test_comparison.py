"""A comparison end to end: its DAG on the embedded stack, MLflow, and the explorer's page."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from kafka_pareto_embedded.airflow_api.client import AirflowClient
from kafka_pareto_embedded.airflow_api.connection import AirflowConnection, Login
from kafka_pareto_embedded.runs.answer import answer_lines
from tests.stack.embedded_stack import EmbeddedStack, Finished

pytestmark = [pytest.mark.stack, pytest.mark.studies, pytest.mark.timeout(400)]

STUDY, PARTS = "comparing", ["acks", "linger_ms"]
STEPS = {"design", "measure", "validate", "compare", "report"}


def test_it_ends_with_its_answer_and_the_addresses(compared: Finished, stack: EmbeddedStack) -> None:
    store, keys = compared.campaign.store, compared.campaign.keys
    assert "\n".join(answer_lines(store, keys)) in compared.said
    assert store.get(keys.report("tables.txt")).decode().startswith("acks, compared with acks")
    for address in (f"{stack.stack.airflow_url}/kafka-pareto/comparisons#study={STUDY}", "report.html", "index.html"):
        assert address in compared.said


def test_every_level_was_measured_once_in_a_block(compared: Finished) -> None:
    repetitions = compared.campaign.read_measurements(PARTS, [0])
    measured = [(each.case, each.block, each.configuration_id) for each in repetitions]
    assert len(set(measured)) == len(measured) == 2 * 2 * 3


def test_the_run_is_green_in_airflow_with_tasks_labelled_by_part(compared: Finished, airflow: AirflowClient) -> None:
    runs = airflow.latest_runs("compare_configurations")
    [run] = [run for run in runs if run.parameters.get("campaign") == compared.campaign.keys.campaign]
    tasks = airflow.tasks("compare_configurations", run.dag_run_id)
    assert run.state == "success"
    assert {task.task_id: task.state for task in tasks} == dict.fromkeys(STEPS, "success")
    assert {task.label for task in tasks if task.task_id == "measure"} == set(PARTS)


@pytest.mark.usefixtures("compared")
def test_mlflow_has_one_run_of_the_campaign_and_a_child_for_each_part(stack: EmbeddedStack) -> None:
    program = (
        "import json, mlflow\n"
        f"runs = mlflow.search_runs(experiment_names=['kafka-pareto/{STUDY}'], output_format='list')\n"
        "print(json.dumps([[r.info.run_id, r.info.run_name, r.data.tags.get('mlflow.parentRunId'), r.info.status,"
        " r.data.metrics] for r in runs]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **stack.mlflow_environment()},
        cwd=stack.state,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    runs = json.loads(done.stdout.splitlines()[-1])
    [(parent, *_)] = [run for run in runs if run[2] is None]
    children = {name: metrics for _, name, of, _, metrics in runs if of == parent}
    assert {status for *_, status, _ in runs} == {"FINISHED"}
    assert set(children) == {f"compare {part}" for part in PARTS}
    assert {"throughput_records_s/1", "throughput_records_s_sd/1", "throughput_records_s_ratio/1"} <= set(
        children["compare acks"]
    )


def test_the_explorer_lists_it_among_the_comparisons_alone(compared: Finished, stack: EmbeddedStack) -> None:
    login = stack.stack.credentials
    account = Login(login.airflow_admin_user, login.airflow_admin_password)
    connection = AirflowConnection(stack.stack.airflow_url, account)
    campaign = compared.campaign.keys.campaign

    def listed(kind: str) -> list[tuple[str, str]]:
        entries = connection.ask("GET", f"/kafka-pareto/api/{kind}").json()
        return [(each["study"], each["campaign"]) for each in entries]

    try:
        assert (STUDY, campaign) in listed("comparisons")
        assert (STUDY, campaign) not in listed("campaigns")
        overview = connection.ask("GET", f"/kafka-pareto/api/comparisons/{STUDY}/{campaign}").json()
        assert overview["parts"] == PARTS
        csv = connection.ask("GET", f"/kafka-pareto/api/comparisons/{STUDY}/{campaign}/acks/levels.csv").text
        assert csv == compared.campaign.store.get(compared.campaign.keys.report("tables/acks.csv")).decode()
    finally:
        connection.close()
