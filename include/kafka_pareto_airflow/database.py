"""Delete old records from Airflow's database."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime, timedelta

from airflow.sdk.exceptions import AirflowException, AirflowSkipException

from kafka_pareto.brokers.processes import tied

log = logging.getLogger(__name__)

# Airflow hides its database from tasks. Steps do not get this variable (`process_step.step_environment`).
_CLEANED_DATABASE = "AIRFLOW_DATABASE_TO_CLEAN"
_AIRFLOW_DATABASE = "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"
_TIMEOUT_S = 1500.0


def clean_database(days: int, now: datetime, environment: Mapping[str, str]) -> None:
    """Delete the records of runs that started more than `days` ago, even of those that still wait for an answer.

    Keeps each DAG's latest run that was not started manually. (In Airflow 3.3, DAGs cannot be excluded: the option
    fails on tables without a DAG ID.)

    Raises:
        AirflowSkipException: If the environment does not name the database, as on a remote worker.
        AirflowException: If a table could not be cleaned, or it takes too long.
    """
    address = environment.get(_CLEANED_DATABASE)
    if not address:
        raise AirflowSkipException(
            f"{_CLEANED_DATABASE} is not set on this worker; run `airflow db clean` on the scheduler's machine"
        )
    argv = [sys.executable, "-m", "airflow", "db", "clean", "--yes", "--skip-archive", "--error-on-cleanup-failure"]
    argv += ["--clean-before-timestamp", (now - timedelta(days=days)).isoformat()]
    # A task's own variables would make Airflow's command act as a task.
    kept = {name: value for name, value in environment.items() if not name.startswith("_AIRFLOW")}
    try:
        done = subprocess.run(
            tied(argv, "TERM"),
            env={**kept, _AIRFLOW_DATABASE: address},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise AirflowException(f"airflow db clean did not finish within {_TIMEOUT_S:.0f} s; clear this task") from error
    for line in done.stdout.splitlines():
        log.info("%s", line)
    if done.returncode != 0:
        raise AirflowException("airflow db clean failed; the log above names the tables that were not cleaned")
