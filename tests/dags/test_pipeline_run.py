"""The real DAG, run by Airflow from end to end; only the steps behind the command lines are stand-ins."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.dags.conftest import FakeProject

pytestmark = [pytest.mark.fast, pytest.mark.usefixtures("airflow_database")]

RUN_THE_DAG = """
import json, sys
from airflow.dag_processing.dagbag import DagBag
from airflow.configuration import conf
dag = DagBag(dag_folder=conf.get("core", "dags_folder")).dags["tune_producer"]
run = dag.test(run_conf=json.loads(sys.argv[1]))
tasks = [[ti.task_id, ti.map_index, str(ti.state), ti.rendered_map_index, ti.try_number] for ti in run.get_task_instances()]
print("RESULT " + json.dumps({"state": run.state, "tasks": tasks}))
"""


def run_dag(project: FakeProject, conf: dict[str, Any]) -> dict[str, Any]:
    finished = project.run(RUN_THE_DAG, conf)
    results = [line for line in finished.stdout.splitlines() if line.startswith("RESULT ")]
    assert results, finished.stdout[-3000:] + finished.stderr[-3000:]
    return json.loads(results[-1].removeprefix("RESULT "))


def test_runs_every_step_in_order_and_maps_over_the_record_sizes_of_the_design(fake_project: FakeProject) -> None:
    result = run_dag(fake_project, {"study": "paper", "campaign": "one"})
    which = ["--study=paper", "--campaign=one"]
    mapped = [[*which, f"--record-size={size}"] for size in (1024, 65636)]
    assert result["state"] == "success"
    assert fake_project.calls() == [
        ["design", *which],
        *(["measure", *arguments] for arguments in mapped),
        ["validate", *which],
        ["train", *which],
        *(["optimize", *arguments] for arguments in mapped),
        *(["confirm", *arguments] for arguments in mapped),
        ["report", *which],
    ]
    labels = {(task, index): label for task, index, _, label, _ in result["tasks"]}
    for step in ("measure", "optimize", "confirm"):
        assert [labels[step, index] for index in (0, 1)] == ["1024 B", "65636 B"]


def test_hands_every_parameter_to_the_design_step_as_one_argument_and_names_a_campaign_after_its_run(
    fake_project: FakeProject,
) -> None:
    run_dag(
        fake_project,
        {
            "record_sizes": [1024, 8192],
            "seed": 7,
            "repetitions": 2,
            "bootstrap_servers": "a:9092,b:9092",
            "client_config": "-prod.properties",
            "ceiling_mib_s": 1.5,
            "ceiling_gib": 2,
            "consent": True,
        },
    )
    study, campaign, *options = fake_project.call_of("design")
    assert study == "--study=quick"
    assert options == [
        "--record-sizes=1024,8192",
        "--seed=7",
        "--repetitions=2",
        "--bootstrap-servers=a:9092,b:9092",
        "--client-config=-prod.properties",
        "--ceiling-mib-s=1.5",
        "--ceiling-gib=2",
        "--consent",
    ]
    assert {arguments[1] for _, *arguments in fake_project.calls()} == {campaign}
    assert campaign.removeprefix("--campaign=").replace("T", "").replace("-", "").isdigit()


def test_a_step_that_refuses_its_input_fails_the_run_at_once_and_nothing_after_it_runs(fake_project: FakeProject) -> None:
    fake_project.write_step("validate", "import sys; print('error: too many rows are bad', file=sys.stderr); sys.exit(65)")
    result = run_dag(fake_project, {"campaign": "two"})
    states = {task: state for task, _, state, _, _ in result["tasks"]}
    assert result["state"] == "failed"
    assert states["validate"] == "failed"
    assert states["train"] == states["report"] == "upstream_failed"
    assert [step for step, *_ in fake_project.calls()] == ["design", "measure", "measure"]
