"""Airflow's old records are deleted by a run of Airflow itself, which hides its database from tasks."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from tests.dags.serving import Served

pytestmark = [pytest.mark.studies, pytest.mark.timeout(600)]


def test_records_of_old_runs_are_deleted(airflow: Served) -> None:
    airflow.trigger("clean_up", "old", {})
    assert airflow.ended("clean_up", "old") == "success"
    with closing(sqlite3.connect(airflow.stack.state / "airflow" / "airflow.db", timeout=30)) as database:
        for table in ("dag_run", "task_instance"):
            database.execute(f"UPDATE {table} SET start_date = '2026-01-01' WHERE run_id = 'old'")  # noqa: S608
        database.commit()

    airflow.trigger("clean_up", "new", {"airflow_days": 30})
    assert airflow.ended("clean_up", "new") == "success", airflow.log("clean_up", "new", "clean_database")
    assert not airflow.client.has_run("clean_up", "old")
    assert airflow.client.has_run("clean_up", "new")
    said = airflow.log("clean_up", "new", "clean_database")
    assert any("dag_run" in line for line in said)
    assert "sqlite:" not in "\n".join(said)
