"""Clusters that studies name: what keeps them apart from the installation's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from airflow.sdk import DAG

from kafka_pareto.study.cluster_names import cluster_names
from kafka_pareto_airflow.assets import CHECK_WANTED
from tests.dags.test_integrity import step_of
from tests.dags.test_retune_dags import dags_of

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


@pytest.mark.parametrize("note", ["!!bool maybe", '!!int ""', "[" * 3000, "2026-13-45"])
def test_a_study_that_yaml_cannot_construct_names_no_cluster(tmp_path: Path, note: str) -> None:
    (tmp_path / "broken.yaml").write_text(f"name: broken\ncluster: {{name: berlin}}\nnote: {note}\n")
    assert cluster_names([tmp_path / "broken.yaml"]) == {}


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
def test_what_is_no_name_of_a_cluster_makes_no_dag(studies: Path, name: str) -> None:
    for file in ("there", "there_too"):
        (studies / f"{file}.yaml").write_text(f"cluster: {{name: {name}}}")
    assert set(dags_of("tune_producer")) == {"tune_producer"}
