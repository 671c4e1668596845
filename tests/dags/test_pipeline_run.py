"""The real DAG, run by Airflow from end to end; only the steps behind the command lines are stand-ins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.dags.conftest import FakeProject, new_project

pytestmark = [pytest.mark.studies, pytest.mark.usefixtures("airflow_database")]

RUN_THE_DAG = """
import json, sys, time
from airflow.dag_processing.dagbag import DagBag
from airflow.configuration import conf
sleep = time.sleep
time.sleep = lambda seconds: sleep(min(seconds, 0.01))  # the run waits a second whenever a failure or a skip spreads
dag = DagBag(dag_folder=conf.get("core", "dags_folder")).dags["tune_producer"]
run = dag.test(run_conf=json.loads(sys.argv[1]))
found = run.get_task_instances()
tasks = [[ti.task_id, ti.map_index, str(ti.state), ti.rendered_map_index] for ti in found]
print("RESULT " + json.dumps({"run_id": run.run_id, "state": run.state, "tasks": tasks}))
"""


def run_dag(project: FakeProject, conf: dict[str, Any]) -> dict[str, Any]:
    finished = project.run(RUN_THE_DAG, conf)
    results = [line for line in finished.stdout.splitlines() if line.startswith("RESULT ")]
    assert results, finished.stdout[-3000:] + finished.stderr[-3000:]
    return json.loads(results[-1].removeprefix("RESULT "))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[FakeProject, dict[str, Any]]:
    """A run with every parameter given, in which one of the two record sizes continues for one round."""
    project = new_project(tmp_path_factory.mktemp("project"))
    project.write_noting_step("propose", cases="{'--round=1': ['65636']}.get(sys.argv[-1], [])")
    conf = {
        "record_sizes": [1024, 65636],
        "seed": 7,
        "repetitions": 2,
        "cool_down_s": 0,
        "baseline": "linger.ms=20\nacks=1\n",
        "warm_start": "c1,c2",
        "bootstrap_servers": "a:9092,b:9092",
        "client_config": "-prod.properties",
        "ceiling_mib_s": 1.5,
        "ceiling_gib": 2,
        "consent": True,
    }
    return project, run_dag(project, conf)


def test_runs_every_step_in_order_mapped_over_record_sizes_with_each_parameter_as_one_argument(
    finished: tuple[FakeProject, dict[str, Any]],
) -> None:
    project, result = finished
    assert result["state"] == "success"
    calls = project.calls()
    _, study, campaign, *options = calls[0]
    assert study == "--study=quick"
    assert campaign.removeprefix("--campaign=").replace("T", "").replace("-", "").isdigit()
    assert options == [
        "--record-sizes=1024,65636",
        "--baseline=linger.ms=20\nacks=1\n",
        "--warm-start=c1,c2",
        "--seed=7",
        "--repetitions=2",
        "--cool-down-s=0",
        "--bootstrap-servers=a:9092,b:9092",
        "--client-config=-prod.properties",
        "--ceiling-mib-s=1.5",
        "--ceiling-gib=2",
        "--consent",
    ]
    which = [study, campaign]
    mapped = [[*which, f"--case={case}"] for case in ("1024", "65636")]
    learned, handed_over = calls[1:7], calls[-4:]
    assert [step for step, *_ in learned] == ["measure", "measure", "validate", "train", "optimize", "optimize"]
    assert [step for step, *_ in handed_over] == ["confirm", "confirm", "report", "accept"]
    expected = [
        *(["measure", *arguments] for arguments in mapped),
        ["validate", *which],
        ["train", *which],
        *(["optimize", *arguments] for arguments in mapped),
        *(["confirm", *arguments] for arguments in mapped),
        ["report", *which],
        ["accept", *which, f"--request={result['run_id']}", "--cluster="],
    ]
    # Mapped tasks run side by side, in any order.
    assert sorted([*learned, *handed_over]) == sorted(expected)
    labels = {(task, index): label for task, index, _, label in result["tasks"]}
    for step in ("measure", "optimize", "confirm"):
        assert [labels[step, index] for index in (0, 1)] == ["1024 B", "65636 B"]


def test_a_round_measures_the_continuing_record_sizes_and_the_rounds_after_the_last_are_skipped(
    finished: tuple[FakeProject, dict[str, Any]],
) -> None:
    project, result = finished
    which = project.calls()[0][1:3]
    first, measured, *learned, second = project.calls()[7:14]
    assert first == ["propose", *which, "--round=1"]
    assert measured == ["measure", *which, "--round=1", "--case=65636"]
    assert sorted(learned) == [
        ["optimize", *which, "--round=1", "--case=1024"],
        ["optimize", *which, "--round=1", "--case=65636"],
        ["train", *which, "--round=1"],
        ["validate", *which, "--round=1"],
    ]
    assert second == ["propose", *which, "--round=2"]
    assert [step for step, *_ in project.calls()[14:]] == ["confirm", "confirm", "report", "accept"]
    skipped = {task for task, _, state, _ in result["tasks"] if state == "skipped"}
    assert {f"round_2.{step}" for step in ("measure", "validate", "train", "optimize")} <= skipped
    assert {f"round_{number}.propose" for number in (3, 4)} <= skipped


@pytest.mark.long
def test_a_step_that_refuses_its_input_fails_the_run_immediately_and_nothing_after_it_runs(tmp_path: Path) -> None:
    project = new_project(tmp_path)
    project.write_step("validate", "import sys; print('error: too many bad rows', file=sys.stderr); sys.exit(65)")
    result = run_dag(project, {"study": "paper", "campaign": "two"})
    states = {task: state for task, _, state, _ in result["tasks"]}
    which = ["--study=paper", "--campaign=two"]
    assert result["state"] == "failed"
    assert states["validate"] == "failed"
    assert states["train"] == states["report"] == "upstream_failed"
    assert sorted(project.calls()) == [
        ["design", *which],
        ["measure", *which, "--case=1024"],
        ["measure", *which, "--case=65636"],
    ]
