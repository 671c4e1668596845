"""Query the embedded stack's Airflow as its administrator."""

from __future__ import annotations

from kafka_pareto_embedded.airflow_api.answers import PARTS
from kafka_pareto_embedded.airflow_api.client import AirflowClient
from kafka_pareto_embedded.airflow_api.connection import AirflowConnection, Login
from kafka_pareto_embedded.errors import StackError
from kafka_pareto_embedded.stack.stack import Stack


def administrator(stack: Stack) -> AirflowClient:
    """Return a client for a running stack, which retries transient errors. Close it, or use it as a context."""
    login = stack.credentials
    account = Login(login.airflow_admin_user, login.airflow_admin_password)
    return AirflowClient(AirflowConnection(stack.airflow_url, account))


def is_healthy(url: str, parts: tuple[str, ...] = PARTS) -> bool:
    """Return whether the API server at this address answers and these parts have a fresh heartbeat. Does not retry."""
    with AirflowClient(AirflowConnection(url, login=None, retry_for_s=0)) as client:
        try:
            return client.health().is_good(parts)
        except (StackError, ValueError):
            return False


def has_dag(client: AirflowClient, dag_id: str) -> bool:
    """Return whether the DAG processor has read the DAG.

    Raises:
        StackError: If a DAG file cannot be imported.
    """
    if client.dag(dag_id) is not None:
        return True
    for failure in client.import_failures():
        raise StackError(
            f"Airflow cannot import {failure.filename}: {failure.last_line}; fix it, then start the stack again"
        )
    return False
