"""Texts about the running stack: its addresses, its programs, and topics left behind by campaigns."""

from __future__ import annotations

from contextlib import suppress

from kafka_pareto.errors import ClusterError
from kafka_pareto_cli.starting import say
from kafka_pareto_embedded.bootstrap.ports import LOOPBACK
from kafka_pareto_embedded.lifecycle.supervision import ProcessState
from kafka_pareto_embedded.runs.remove_topics import topics_left_on
from kafka_pareto_embedded.stack.stack import Stack


def addresses(stack: Stack) -> dict[str, str]:
    """Return the addresses and the file with the logins."""
    return {
        "Airflow": stack.airflow_url,
        "MLflow": stack.mlflow_url,
        "MinIO": stack.s3_url,
        "Kafka": stack.bootstrap_servers,
        "Logs": str(stack.logs),
        "Logins": str(stack.logins),
    }


def status_rows(stack: Stack, processes: list[ProcessState]) -> list[tuple[str, ...]]:
    """Return a row for each program: name, state, PID, address and start time."""
    ports = {"minio": stack.ports.minio, "mlflow": stack.ports.mlflow, "airflow-api-server": stack.ports.airflow}
    ports |= {f"kafka-{number}": port for number, port in enumerate(stack.ports.kafka, start=1)}
    return [
        (
            process.name,
            process.state.lower(),
            str(process.pid or ""),
            f"{LOOPBACK}:{port}" if (port := ports.get(process.name)) else "",
            f"{process.since:%Y-%m-%d %H:%M:%S}" if process.since else "",
        )
        for process in sorted(processes, key=lambda process: process.name)
    ]


def print_topics_left(stack: Stack, processes: list[ProcessState]) -> None:
    """Print the topics of campaigns on the brokers; ignore brokers that do not answer."""
    if not any(process.is_running and process.name.startswith("kafka") for process in processes):
        return
    with suppress(ClusterError):
        if topics := topics_left_on(stack):
            say("\nTopics of campaigns (if no campaign is running, `make remove-topics` deletes them):")
            print("\n".join(topics))
