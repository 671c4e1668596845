"""A real Airflow (scheduler, DAG processor, API server) on a free port, in its own folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from kafka_pareto.brokers.ports import free_ports
from kafka_pareto.storage.private_file import write_private
from kafka_pareto.study.identifiers import TUNE_DAG_ID, pool_of
from kafka_pareto_embedded.airflow_api.administrator import administrator, has_dag, is_healthy
from kafka_pareto_embedded.bootstrap.ports import Ports
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from kafka_pareto_embedded.programs.preparation import migrate_database
from kafka_pareto_embedded.programs.programs import airflow_environment, clean_up_environment
from kafka_pareto_embedded.stack.credentials import Credentials, write_credentials
from kafka_pareto_embedded.stack.stack import Stack

# It passes a failure on by one task a loop, and waits after each: a second, as shipped.
_HASTE = {"AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.1"}


@contextmanager
def running_airflow(state: Path, step_environment: dict[str, str]) -> Iterator[Stack]:
    """Run Airflow alone, as the embedded stack configures it; nothing of it is left afterwards."""
    stack = Stack(state, Ports(airflow=free_ports(1)[0]))
    for folder in ("airflow", "logs", "home", "tmp"):
        (state / folder).mkdir(parents=True)
    write_credentials(stack.secrets_file, Credentials())
    login = {stack.credentials.airflow_admin_user: stack.credentials.airflow_admin_password}
    write_private(state / "airflow" / "passwords.json", json.dumps(login))
    migrate_database(stack)
    with ExitStack() as started:
        common = airflow_environment(stack)
        environment = {**common, **clean_up_environment(common), **_HASTE, **step_environment}
        started.enter_context(_running(stack, environment))
        parts = ("scheduler", "dag_processor")
        wait_until("Airflow answers", lambda: is_healthy(stack.airflow_url, parts), 90, f"see {stack.logs}")
        with administrator(stack) as airflow:
            airflow.create_pool(pool_of(""))
            wait_until("Airflow has loaded the DAG", lambda: has_dag(airflow, TUNE_DAG_ID), 60, f"see {stack.logs}")
            airflow.set_paused(TUNE_DAG_ID, False)
        yield stack


@contextmanager
def _running(stack: Stack, environment: dict[str, str]) -> Iterator[None]:
    """All of Airflow's processes; they are stopped in parallel, since each takes its time."""
    parts = (["scheduler", "--skip-serve-logs"], ["dag-processor"], ["api-server"])
    processes = [_started(part, stack, environment) for part in parts]
    try:
        yield
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGTERM)
        for process in processes:
            _await_end(process)


def _started(arguments: list[str], stack: Stack, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    with (stack.logs / f"{arguments[0]}.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "airflow", *arguments],
            env=environment,
            cwd=stack.state / "airflow",
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _await_end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
