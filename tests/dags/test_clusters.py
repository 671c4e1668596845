"""Clusters that studies name: what keeps them apart from the installation's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowFailException

from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.cluster_names import cluster_names
from kafka_pareto.study.sections import ForeignCluster
from kafka_pareto.study.study_file import dump_study
from kafka_pareto_airflow.assets import CHECK_WANTED
from tests.dags.test_integrity import step_of
from tests.dags.test_retune_dags import dags_of
from tests.recorded import paper_study

pytestmark = pytest.mark.fast


@pytest.fixture
def studies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAFKA_PARETO_STUDIES", str(tmp_path))
    (tmp_path / "here.yaml").write_text("name: here")
    (tmp_path / "there.yaml").write_text("cluster: {name: berlin}\nretune: {schedule: '@daily'}")
    (tmp_path / "there_too.yaml").write_text("cluster: {name: berlin}")
    return tmp_path


def loads(dag: DAG) -> dict[str, str]:
    """The pool of each task that loads a cluster."""
    return {task.task_id: task.pool for task in dag.tasks if task.pool != "default_pool"}


@pytest.mark.usefixtures("studies")
def test_each_cluster_has_a_dag_a_slot_and_a_queue() -> None:
    dags = dags_of("tune_producer")
    assert set(dags) == {"tune_producer", "tune_producer_berlin"}
    own, named = dags["tune_producer"], dags["tune_producer_berlin"]
    assert set(loads(own).values()) == {"kafka_cluster"}
    assert set(loads(named).values()) == {"kafka_cluster_berlin"}
    assert {step_of(task_id) for task_id in loads(named)} == {"measure", "confirm"}
    assert {task.queue for task in own.tasks} == {"default"}
    assert {task.queue for task in named.tasks} == {"kafka_berlin"}


def test_load_machines_are_started_before_the_first_load_of_a_cluster_that_has_them(studies: Path) -> None:
    asked = "cluster: {name: berlin}\nretune: {schedule: '@daily'}\nprotocol: {load_machines: 3}"
    (studies / "there.yaml").write_text(asked)
    (studies / "compared.yaml").write_text("kind: compare\ncluster: {name: berlin}")
    loading = {
        "tune_producer_berlin": ["measure", "confirm", *(f"round_{number}.measure" for number in range(1, 5))],
        "retune_producer_there": ["check_measure"],
        "compare_configurations_berlin": ["measure"],
    }
    for dag_id, tasks in loading.items():
        dag = dags_of(dag_id.removesuffix("_berlin").removesuffix("_there"))[dag_id]
        dag.validate()
        start = dag.get_task("start_load_machines")
        assert start.trigger_dag_id == "load_machines_berlin"
        assert start.upstream_task_ids == {start.first}
        assert start.downstream_task_ids == {tasks[0]}
        for name in tasks:  # clearing a load starts them again
            assert list(dag.get_task(name).get_upstreams_only_setups_and_teardowns()) == [start]
        assert "| start_load_machines |" in str(dag.doc_md)
    [machines] = dags_of("load_machines").values()
    machines.validate()
    assert machines.dag_id == "load_machines_berlin"
    queues = {task.task_id: task.queue for task in machines.tasks}
    assert queues.pop("run_load_machine") == "kafka_berlin_load"
    assert set(queues.values()) == {"kafka_berlin"}
    for task in machines.tasks:
        assert (task.owner, bool(task.doc_md)) == ("kafka-pareto", True)
        assert task.execution_timeout is not None
        assert f"| {task.task_id} |" in str(machines.doc_md)
    for file in ("tune_producer", "retune_producer"):
        assert "start_load_machines" not in dags_of(file)[file].task_dict


@pytest.mark.parametrize("protocol", ["3", "[load_machines]", "{load_machines: 0}", "{load_machines: "])
def test_a_study_without_load_machines_has_no_such_task(studies: Path, protocol: str) -> None:
    (studies / "there.yaml").write_text(f"cluster: {{name: berlin}}\nprotocol: {protocol}")
    assert dags_of("load_machines") == {}
    assert "start_load_machines" not in dags_of("tune_producer")["tune_producer_berlin"].task_dict


@pytest.mark.slow
@pytest.mark.parametrize("note", ["!!bool maybe", '!!int ""', "[" * 3000, "2026-13-45"])
def test_a_study_that_yaml_cannot_construct_names_no_cluster(tmp_path: Path, note: str) -> None:
    (tmp_path / "broken.yaml").write_text(f"name: broken\ncluster: {{name: berlin}}\nnote: {note}\n")
    assert cluster_names([tmp_path / "broken.yaml"]) == {}


@pytest.mark.usefixtures("studies")
def test_settings_move_by_the_dag_of_their_own_cluster_which_alone_asks_about_them() -> None:
    dags, tuning = dags_of("settings_in_force"), dags_of("tune_producer")
    assert set(dags) == {"settings_in_force", "settings_in_force_berlin"}
    for suffix, cluster in (("", ""), ("_berlin", "berlin")):
        move, tune = dags[f"settings_in_force{suffix}"], tuning[f"tune_producer{suffix}"]
        for step in (move.get_task("accept"), move.get_task("roll_back"), tune.get_task("accept")):
            assert step.arguments[-1] == f"--cluster={cluster}"
        assert {task.trigger_dag_id for task in (move.get_task("ask"), tune.get_task("ask"))} == {move.dag_id}
        assert {task.queue for task in move.tasks} == {"kafka_berlin" if cluster else "default"}


def test_a_question_shows_no_campaign_of_another_cluster(studies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PARETO_STORE_FOLDER", str(studies / "store"))
    berlin = ForeignCluster(name="berlin", bootstrap_servers="b:1", ceiling_mib_s=1, ceiling_gib=1)
    frozen = dump_study(paper_study().model_copy(update={"cluster": berlin}))
    FolderStore(studies / "store").put("paper/c1/study.yaml", frozen.encode())
    approve = dags_of("settings_in_force")["settings_in_force"].get_task("approve")
    with pytest.raises(AirflowFailException, match="cluster berlin; trigger settings_in_force_berlin instead"):
        approve.execute({"params": {"study": "paper", "campaign": "c1", "changes_seen": None}})


@pytest.mark.usefixtures("studies")
def test_each_dag_takes_its_own_clusters_studies_alone() -> None:
    dags = dags_of("tune_producer")
    assert dags["tune_producer_berlin"].params.get_param("study").schema["enum"] == ["there", "there_too"]
    assert dags["tune_producer"].params.get_param("study").schema["enum"] == ["here"]


@pytest.mark.usefixtures("studies")
def test_a_check_runs_where_its_studys_cluster_is_and_has_it_tuned_there() -> None:
    dags = dags_of("retune_producer")
    assert set(dags) == {"retune_producer", "retune_producer_there", "retune_producer_there_too"}
    assert dags["retune_producer"].params.get_param("study").schema["enum"] == ["here"]
    assert dags["retune_producer_there_too"].schedule == [CHECK_WANTED]
    assert dags["retune_producer_there"].schedule.asset_condition.objects == (CHECK_WANTED,)
    assert dags["retune_producer_there"].schedule.timetable.expression == "0 0 * * *"
    check = dags["retune_producer_there"]
    assert loads(check) == {"check_measure": "kafka_cluster_berlin"}
    assert {task.queue for task in check.tasks} == {"kafka_berlin"}
    assert check.get_task("tune").trigger_dag_id == "tune_producer_berlin"


@pytest.mark.parametrize("name", ["'../x'", "Berlin", "[1]", "''", "{"])
def test_an_invalid_cluster_name_makes_no_dag(studies: Path, name: str) -> None:
    for file in ("there", "there_too"):
        (studies / f"{file}.yaml").write_text(f"cluster: {{name: {name}}}")
    assert set(dags_of("tune_producer")) == {"tune_producer"}
