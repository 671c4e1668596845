"""Wait until each server of the stack answers, and check that it is our process that answers."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import httpx
import psutil

from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.study.cluster_names import cluster_names, kind_of
from kafka_pareto.study.identifiers import COMPARE_DAG_ID, TUNE_DAG_ID, pool_of
from kafka_pareto_embedded.airflow_api.administrator import administrator, has_dag, is_healthy
from kafka_pareto_embedded.airflow_api.connection import PLAIN_HTTP
from kafka_pareto_embedded.bootstrap.ports import LOOPBACK
from kafka_pareto_embedded.errors import StackError
from kafka_pareto_embedded.lifecycle.supervision import Supervisor
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from kafka_pareto_embedded.stack.stack import Stack

_TIMEOUT_S = 180.0


def answers_everywhere(stack: Stack) -> bool:
    """Return whether a started stack still answers; do not wait."""
    return (
        all(_listens(port) for port in stack.ports.kafka)
        and _answers(_minio_health(stack))
        and _answers(_mlflow_health(stack))
        and is_healthy(stack.airflow_url)
    )


def wait_for_minio(stack: Stack, supervisor: Supervisor) -> None:
    """Wait until MinIO is ready."""
    _wait(stack, supervisor, ["minio"], "MinIO is ready", lambda: _answers(_minio_health(stack)))
    _check_owner(supervisor, "minio", stack.ports.minio)


def wait_for_mlflow(stack: Stack, supervisor: Supervisor) -> None:
    """Wait until MLflow's tracking server answers."""
    _wait(stack, supervisor, ["mlflow"], "MLflow answers", lambda: _answers(_mlflow_health(stack)))
    _check_owner(supervisor, "mlflow", stack.ports.mlflow)


def wait_for_brokers(stack: Stack, supervisor: Supervisor) -> None:
    """Wait until every broker listens and is a member of the cluster."""
    names = [f"kafka-{number}" for number in range(1, len(stack.ports.kafka) + 1)]
    _wait(
        stack, supervisor, names, "the brokers are listening", lambda: all(_listens(port) for port in stack.ports.kafka)
    )
    for name, port in zip(names, stack.ports.kafka, strict=True):
        _check_owner(supervisor, name, port)
    with Cluster(stack.bootstrap_servers, None, stack.settings()) as cluster:

        def is_complete() -> bool:
            try:
                return len(cluster.describe().brokers) == len(names)
            except ClusterError:
                return False

        _wait(stack, supervisor, names, f"{len(names)} brokers form one cluster", is_complete)


def wait_for_airflow(stack: Stack, supervisor: Supervisor) -> None:
    """Wait until all parts of Airflow are healthy, its pools exist, and the DAG is loaded and unpaused."""
    names = [process.name for process in supervisor.processes() if process.group == "airflow"]
    _wait(stack, supervisor, names, "every part of Airflow is healthy", lambda: is_healthy(stack.airflow_url))
    _check_owner(supervisor, "airflow-api-server", stack.ports.airflow)
    with administrator(stack) as airflow:
        for name in dict.fromkeys(["", *cluster_names(study_files(stack)).values()]):
            airflow.create_pool(pool_of(name))
        for dag in dags_of_own_cluster(study_files(stack)):
            _wait(stack, supervisor, names, f"Airflow has loaded the DAG {dag}", partial(has_dag, airflow, dag))
            airflow.set_paused(dag, False)


def study_files(stack: Stack) -> list[Path]:
    """List the files of the stack's studies."""
    return sorted(stack.settings().studies.glob("*.yaml"))


def dags_of_own_cluster(files: Sequence[Path]) -> list[str]:
    """List the DAGs that run campaigns on the installation's cluster: one per kind of study."""
    named = cluster_names(files)
    kinds = {kind_of(file) for file in files if file.stem not in named}
    return [dag for kind, dag in (("tune", TUNE_DAG_ID), ("compare", COMPARE_DAG_ID)) if kind in kinds]


def _wait(stack: Stack, supervisor: Supervisor, names: list[str], what: str, condition: Callable[[], bool]) -> None:
    def holds() -> bool:
        if condition():
            return True
        for process in supervisor.processes():
            if process.name in names and process.has_failed:
                raise StackError(
                    f"{process.name} exited during its start ({process.state}); see the end of {process.log}"
                )
        return False

    wait_until(what, holds, _TIMEOUT_S, f"the logs are in {stack.logs}")


def _minio_health(stack: Stack) -> str:
    return f"{stack.s3_url}/minio/health/ready"


def _mlflow_health(stack: Stack) -> str:
    return f"{stack.mlflow_url}/health"


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5.0, trust_env=False, verify=PLAIN_HTTP).is_success
    except httpx.HTTPError:
        return False


def _listens(port: int) -> bool:
    try:
        with socket.create_connection((LOOPBACK, port), timeout=1.0):
            return True
    except OSError:
        return False


def _check_owner(supervisor: Supervisor, name: str, port: int) -> None:
    """Check that our process answers, not another stack on the same port."""
    process = next(process for process in supervisor.processes() if process.name == name)
    if process.pid is None or port not in _ports_of(process.pid):
        raise StackError(
            f"port {port} is in use by a process that is not this stack's {name}; stop that process or choose another "
            f"port (`make help` names the variables), or see {process.log}"
        )


def _ports_of(pid: int) -> set[int]:
    try:
        parent = psutil.Process(pid)
        family = [parent, *parent.children(recursive=True)]
        connections = [connection for member in family for connection in member.net_connections(kind="tcp")]
    except psutil.NoSuchProcess:
        return set()
    return {connection.laddr.port for connection in connections if connection.status == psutil.CONN_LISTEN}
