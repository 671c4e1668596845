"""The policies of every DAG of the project; a message names the DAG and the fix."""

from __future__ import annotations

import itertools
import os
import runpy
import subprocess
import sys
from copy import copy
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk import DAG
from jinja2 import Template

from kafka_pareto.errors import BadInputError
from kafka_pareto.study.identifiers import MOST_ROUNDS
from kafka_pareto_airflow.forms import tune_parameters
from kafka_pareto_airflow.notify.notices import FailureNotifier
from tests.dags.conftest import PROJECT

pytestmark = [pytest.mark.fast, pytest.mark.slow]

RETRIES = {
    "design": 2,
    "propose": 2,
    "measure": 3,
    "validate": 0,
    "train": 2,
    "optimize": 2,
    "confirm": 3,
    "report": 2,
    "approve": 2,
    "accept": 2,
    "ask": 2,
    "action": 2,
    "roll_back": 2,
}
LEARNING = ["measure", "validate", "train", "optimize"]


@pytest.fixture(scope="module")
def dag_bag() -> DagBag:
    return DagBag(dag_folder=str(PROJECT / "dags"), collect_dags=True)


@pytest.fixture(scope="module")
def dag(dag_bag: DagBag) -> DAG:
    return dag_bag.dags["tune_producer"]


@pytest.fixture(scope="module")
def move(dag_bag: DagBag) -> DAG:
    return dag_bag.dags["settings_in_force"]


def test_every_dag_imports(dag_bag: DagBag) -> None:
    assert dag_bag.import_errors == {}
    assert {"tune_producer", "compare_configurations", "retune_producer", "settings_in_force"} <= set(dag_bag.dags)
    for dag in dag_bag.dags.values():
        dag.check_cycle()


def step_of(task_id: str) -> str:
    return task_id.rpartition(".")[2]


def test_the_edges_are_exactly_the_pipelines(dag: DAG) -> None:
    edges = {(task.task_id, below) for task in dag.tasks for below in task.downstream_task_ids}
    rounds = [f"round_{number}.{step}" for number in range(1, MOST_ROUNDS + 1) for step in ("propose", *LEARNING)]
    steps = ["design", *LEARNING, *rounds, "confirm", "report", "accept", "ask"]
    assert [task.task_id for task in dag.topological_sort()] == steps
    assert edges == {*itertools.pairwise(steps), ("design", "confirm")}  # the latter is what confirm is mapped over


def test_only_the_confirmation_runs_after_skipped_rounds_and_only_a_question_after_nothing_moved(dag: DAG) -> None:
    lenient = {task.task_id: task.trigger_rule for task in dag.tasks if task.trigger_rule != "all_success"}
    assert lenient == {"confirm": "none_failed", "ask": "none_failed_min_one_success"}


def test_measure_optimize_and_confirm_are_mapped_and_labelled_by_record_size(dag: DAG) -> None:
    mapped = {task.task_id: task.map_index_template for task in dag.tasks if task.is_mapped}
    assert {step_of(task_id) for task_id in mapped} == {"measure", "optimize", "confirm"}
    assert len(mapped) == 2 * (1 + MOST_ROUNDS) + 1
    (label,) = set(mapped.values())
    shown = [Template(str(label)).render(task=SimpleNamespace(case=case)) for case in ("8192", "pipeline")]
    assert shown == ["8192 B", "pipeline"]


def test_only_tasks_that_load_the_cluster_take_its_one_slot(dag: DAG) -> None:
    for task in dag.tasks:
        assert (task.pool == "kafka_cluster") == (step_of(task.task_id) in ("measure", "confirm")), task.task_id


def test_retries_are_as_declared_and_the_gate_has_none(dag: DAG, move: DAG) -> None:
    for task in [*dag.tasks, *move.tasks]:
        assert task.retries == RETRIES[step_of(task.task_id)], task.task_id


def test_every_task_has_an_owner_a_timeout_and_a_line_of_documentation(dag_bag: DagBag) -> None:
    for dag in dag_bag.dags.values():
        for task in dag.tasks:
            name = f"{dag.dag_id}.{task.task_id}"
            assert task.owner == "kafka-pareto", f"{name}: set its owner"
            if not isinstance(task, HITLOperator):  # it would count the time that a person takes
                limit = task.execution_timeout
                assert timedelta(0) < limit <= timedelta(hours=12), f"{name}: set its execution_timeout"
            assert task.doc_md, f"{name}: say in one line of doc_md what it does"
            assert "\n" not in task.doc_md.strip(), f"{name}: keep its doc_md to one line"


def test_every_dag_documents_its_inputs_outputs_and_the_fix_for_every_task(dag_bag: DagBag) -> None:
    for dag in dag_bag.dags.values():
        rows = {f"| {step_of(task.task_id)} |" for task in dag.tasks}
        for words in ("**Inputs**", "**Outputs**", "When a task fails", *rows):
            assert words in dag.doc_md, f"{dag.dag_id}: its module docstring lacks {words}"


def test_an_approval_waits_for_as_long_as_it_takes_and_holds_no_slot_of_the_cluster(move: DAG) -> None:
    approve = move.get_task("approve")
    assert (approve.response_timeout, approve.execution_timeout) == (None, None)
    assert approve.pool == "default_pool"


def test_results_and_moves_are_asset_events(dag: DAG, move: DAG) -> None:
    tasks = [task for task in [*dag.tasks, *move.tasks] if task.outlets]
    assert {(task.dag_id, task.task_id): [asset.name for asset in task.outlets] for task in tasks} == {
        ("tune_producer", "report"): ["kafka_producer_recommendation"],
        ("tune_producer", "accept"): ["kafka_producer_settings_in_force"],
        ("settings_in_force", "accept"): ["kafka_producer_settings_in_force"],
        ("settings_in_force", "roll_back"): ["kafka_producer_settings_in_force"],
    }


def test_every_dag_is_unpaused_in_a_new_installation_and_notifies_people_of_failed_runs(dag_bag: DagBag) -> None:
    for dag in dag_bag.dags.values():
        assert dag.is_paused_upon_creation is False, f"{dag.dag_id}: give it dag_options"
        assert isinstance(dag.on_failure_callback, FailureNotifier), f"{dag.dag_id}: give it dag_options"


def test_runs_are_started_manually_campaigns_one_by_one_and_moves_despite_open_questions(dag: DAG, move: DAG) -> None:
    for each in (dag, move):
        assert each.schedule is None
        assert each.catchup is False
        assert each.tags
    assert dag.max_active_runs == 1
    assert move.max_active_runs >= 1000, "an open question is a run: it would keep the others waiting"
    assert {move.get_task(name).max_active_tis_per_dag for name in ("accept", "roll_back")} == {1}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("study", "paper"),
        ("campaign", "20261121T120000"),
        ("record_sizes", [1, 1_000_000]),
        ("seed", 0),
        ("repetitions", 1),
        ("cool_down_s", 0),
        ("baseline", "# today's\nlinger.ms=20\nbatch.size: 32768"),
        ("baseline", ""),
        ("warm_start", "latest"),
        ("warm_start", "20261121T120000,c_2"),
        ("bootstrap_servers", "kafka-1.example.org:9092,10.0.0.2:9093"),
        ("client_config", "prod.properties"),
        ("ceiling_mib_s", 0.5),
        ("ceiling_gib", 10),
        ("consent", True),
        ("approval", True),
    ],
)
def test_valid_parameters_tune(dag: DAG, name: str, value: Any) -> None:
    assert copy(dag.params.get_param(name)).resolve(value) == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("action", "roll_back"),
        ("study", "no-longer_there"),
        ("campaign", ""),
        ("campaign", "20261121T120000"),
        ("case", "8192"),
        ("case", ""),
        ("case", None),
        ("configuration", ""),
        ("configuration", "c0123456789"),
        ("reason", "--by=eve {{ 1 }}\nand more"),
    ],
)
def test_valid_parameters_move_settings(move: DAG, name: str, value: Any) -> None:
    assert copy(move.params.get_param(name)).resolve(value) == value


def test_parameters_left_empty_are_valid(dag: DAG) -> None:
    assert dag.params.validate()["study"] == "quick"


def _python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": f"{PROJECT / 'include'}:{PROJECT}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


PARSE = """
import sys
import airflow.sdk
from airflow.dag_processing.dagbag import DagBag
bag = DagBag(dag_folder={folder!r})
"""


def test_parsing_imports_nothing_heavy() -> None:
    heavy = ["pandas", "numpy", "mlflow", "xgboost", "great_expectations", "pymoo", "scipy", "sklearn", "pyarrow"]
    heavy += ["minio", "docker", "kubernetes"]
    code = PARSE.format(folder=str(PROJECT / "dags"))
    found = _python(f"{code}\nassert bag.dags\nprint([name for name in {heavy!r} if name in sys.modules])")
    imported = found.splitlines()[-1]
    assert imported == "[]", "import these inside the step, not in a DAG file or what it imports"


@pytest.mark.parametrize(("runner", "operator"), [("docker", "DockerStep"), ("kubernetes", "KubernetesStep")])
def test_every_dag_is_the_same_whatever_its_steps_run_in(runner: str, operator: str) -> None:
    """Parsed, written to the database and, where a task is mapped, made anew for one of its record sizes."""
    code = f"""
import os
os.environ["KAFKA_PARETO_RUNNER"] = {runner!r}
from airflow.dag_processing.dagbag import DagBag
from airflow.serialization.serialized_objects import DagSerialization
bag = DagBag(dag_folder={str(PROJECT / "dags")!r})
assert bag.import_errors == {{}}, bag.import_errors
dag = bag.dags["tune_producer"]
DagSerialization.to_dict(dag)
measure = dag.get_task("measure").unmap({{"case": "8192"}})
assert (measure.case, measure.step) == ("8192", "measure")
assert measure.arguments[0] == "--study={{{{ params.study }}}}"
print(len(dag.tasks), dag.get_task("design").task_type, type(measure).__name__)
"""
    tasks, *operators = _python(code).splitlines()[-1].split()
    assert operators == [operator, operator]
    assert int(tasks) == 5 + len(LEARNING) + MOST_ROUNDS * (1 + len(LEARNING))


def test_an_unknown_runner_is_named_with_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PARETO_RUNNER", "Docker")
    file = PROJECT / "include" / "kafka_pareto_airflow" / "steps" / "step_operator.py"
    with pytest.raises(BadInputError, match="KAFKA_PARETO_RUNNER: 'Docker': must be process, docker or kubernetes"):
        runpy.run_path(str(file))


def test_the_form_offers_the_studies_of_the_installations_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.yaml").touch()
    (tmp_path / "quick.yaml").touch()
    monkeypatch.setenv("KAFKA_PARETO_STUDIES", str(tmp_path))
    assert tune_parameters()["study"].schema["enum"] == ["mine", "quick"]


def test_a_folder_without_a_study_is_named_with_the_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PARETO_STUDIES", str(tmp_path))
    with pytest.raises(BadInputError, match=r"has no study; add a <name>\.yaml there, or fix"):
        tune_parameters()


def test_the_library_and_the_embedded_stack_import_without_airflow() -> None:
    code = """
import importlib, pkgutil, sys
sys.modules["airflow"] = None
import kafka_pareto, kafka_pareto_cli, kafka_pareto_embedded
names = []
for package in (kafka_pareto, kafka_pareto_cli, kafka_pareto_embedded):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
            names.append(module.name)
print(len(names))
"""
    assert int(_python(code).splitlines()[-1]) > 20
