"""The DAGs of the checks: which there are, and the policies that they keep."""

from __future__ import annotations

import asyncio
import importlib.util
import itertools
import logging
from datetime import timedelta
from pathlib import Path

import pytest
from airflow.sdk import DAG

from kafka_pareto_airflow.notify.overdue import report_overdue
from kafka_pareto_airflow.retuning import studies_with_checks_of_their_own
from tests.dags.conftest import PROJECT

pytestmark = pytest.mark.fast


def retune_dags() -> dict[str, DAG]:
    return dags_of("retune_producer")


def dags_of(file: str) -> dict[str, DAG]:
    """The DAGs that a DAG file makes from the current studies."""
    spec = importlib.util.spec_from_file_location(f"{file}_under_test", PROJECT / f"dags/{file}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    made: dict[str, DAG] = {}
    original = DAG.__exit__

    def note(dag: DAG, *arguments: object) -> None:
        made[dag.dag_id] = dag
        original(dag, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DAG, "__exit__", note)
        spec.loader.exec_module(module)
    return made


@pytest.fixture(scope="module")
def dags() -> dict[str, DAG]:
    return retune_dags()


@pytest.mark.slow
def test_each_shipped_study_that_activates_settings_for_use_is_checked_on_sundays(dags: dict[str, DAG]) -> None:
    schedules = {name: dag.schedule.expression for name, dag in dags.items() if name != "retune_producer"}
    studies = ("steady", "quick", "cold_burst", "librdkafka")
    assert schedules == {f"retune_producer_{study}": f"0 {hour} * * 0" for hour, study in enumerate(studies, 3)}
    assert dags["retune_producer_steady"].params["study"] == "steady"


@pytest.mark.slow
def test_checks_run_one_at_a_time_make_up_for_nothing_and_have_a_deadline(dags: dict[str, DAG]) -> None:
    for name, dag in dags.items():
        assert (dag.catchup, dag.max_active_runs) == (False, 1), name
        [deadline] = dag.deadline
        assert deadline.interval == timedelta(minutes=60), name
        assert deadline.callback.path == "kafka_pareto_airflow.notify.overdue.report_overdue", name


def test_the_edges_are_a_check_its_measuring_its_comparison_and_a_tuning(dags: dict[str, DAG]) -> None:
    for dag in dags.values():
        edges = {(task.task_id, below) for task in dag.tasks for below in task.downstream_task_ids}
        assert edges == set(itertools.pairwise(["check", "check_measure", "check_compare", "tune"]))
        assert {task.task_id for task in dag.tasks if task.pool == "kafka_cluster"} == {"check_measure"}
        assert {task.task_id for task in dag.tasks if task.trigger_rule == "none_failed"} == {"check_compare"}


def test_a_study_that_cannot_be_read_has_no_schedule_and_takes_none_from_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "good.yaml").write_text("retune: {schedule: '@daily', deadline_minutes: 5}")
    (tmp_path / "silent.yaml").write_text("name: silent")
    (tmp_path / "wrong.yaml").write_text("retune: {schedule: weekly}")
    (tmp_path / "torn.yaml").write_text("retune: {")
    (tmp_path / "empty.yaml").touch()
    monkeypatch.setenv("KAFKA_PARETO_STUDIES", str(tmp_path))
    with caplog.at_level(logging.WARNING):
        assert set(studies_with_checks_of_their_own([])) == {"good"}
    for name in ("wrong", "torn", "empty"):
        assert f"{name}.yaml: has no schedule, because it cannot be read" in caplog.text
    dags = retune_dags()
    assert set(dags) == {"retune_producer", "retune_producer_good"}
    assert dags["retune_producer_good"].deadline[0].interval == timedelta(minutes=5)


def test_an_overdue_run_is_announced_with_its_address(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KAFKA_PARETO_NOTIFY", "log")
    asyncio.run(report_overdue({"dag_run": {"dag_id": "retune_producer", "dag_run_id": "late"}}))
    said = capsys.readouterr().out
    assert "retune_producer is overdue" in said
    assert "/dags/retune_producer/runs/late" in said
