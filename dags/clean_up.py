"""Delete old campaigns and old records of Airflow.

Deletes campaigns that have expired under their study's `retention`; studies without it keep all. Campaigns that others
need, such as those behind active settings, are always kept. Also deletes old runs from Airflow's database: those
started more than `airflow_days` ago, including unanswered approvals. Each DAG's latest run that was not started
manually is kept. Runs weekly, before the scheduled checks.

**Inputs**: the studies; the parameter `airflow_days`.

**Outputs**: none. The tasks' logs list what was deleted.

## When a task fails
The last lines of its log name the error and the fix. Fix the cause, then clear the task.

| task | what to check |
|---|---|
| clean_up | the store, and the study that the log names. Campaigns of other studies are deleted already |
| clean_database | Airflow's database. Skipped where it cannot be reached: run `airflow db clean` at the scheduler |
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

from airflow.sdk import DAG, CronTriggerTimetable, Param, task

from kafka_pareto_airflow import database
from kafka_pareto_airflow.clusters import cluster_routes
from kafka_pareto_airflow.steps.step_operator import step_task
from kafka_pareto_airflow.task_rules import RULES, dag_options

with DAG(
    dag_id="clean_up",
    description="Deletes old campaigns and old records of Airflow.",
    doc_md=__doc__,
    schedule=CronTriggerTimetable("0 2 * * 0", timezone="UTC", run_immediately=timedelta(0)),
    max_active_runs=1,
    tags=["kafka", "maintenance"],
    params={
        "airflow_days": Param(
            365,
            type="integer",
            minimum=30,
            description="Delete records of runs that started more than this many days ago.",
        )
    },
    **dag_options(cluster_routes()[0].queue),
):

    @task(  # type: ignore[untyped-decorator]  # the SDK's decorator
        doc_md="Deletes records of old runs from Airflow's database.", **RULES["clean_database"]
    )
    def clean_database(params: dict[str, int]) -> None:
        """Delete records of old runs."""
        database.clean_database(params["airflow_days"], datetime.now(UTC), os.environ)

    step_task("clean_up", [], "Deletes expired campaigns.")
    clean_database()
