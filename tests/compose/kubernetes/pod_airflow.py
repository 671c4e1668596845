"""Airflow in the cluster, with brokers, store, MLflow and Postgres in containers beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import yaml
from kubernetes import client, utils

from kafka_pareto.tracking.provision import STEPS_USER
from kafka_pareto_embedded.airflow_api.administrator import is_healthy
from kafka_pareto_embedded.airflow_api.client import AirflowClient
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from tests.compose.kubernetes.cluster import KubernetesCluster
from tests.compose.kubernetes.release import (
    API_PORT,
    API_SERVER,
    MIGRATION,
    NAMESPACE,
    kubernetes_object,
    migration,
    servers,
)
from tests.compose.phases import phase
from tests.compose.stack import ROOT, ComposeStack

STUDY = "short"
_READY_WITHIN_S = 420.0
_STEP_PODS = "kafka-pareto-step-"
# The servers that a user of the chart provides, and their ports; in the cluster they have their containers' names.
_CONTAINERS = {"kafka-1": 9092, "kafka-2": 9092, "kafka-3": 9092, "minio": 9000, "mlflow": 5000, "postgres": 5432}


@dataclass(frozen=True)
class PodAirflow:
    """Airflow in pods; `services` are the containers that it uses, `url` is its API server's."""

    cluster: KubernetesCluster
    services: ComposeStack
    url: str

    def login(self, name: str) -> AbstractContextManager[AirflowClient]:
        """A client of Airflow's API with the rights of this user."""
        return self.services.login(name, self.url)

    @property
    def log_hint(self) -> str:
        """Where the logs of all pods are."""
        return self.cluster.log_hint

    def pods_of(self, step: str) -> list[str]:
        """The names of all pods of this step that were scheduled, deleted ones included."""
        events = self.cluster.core.list_namespaced_event(NAMESPACE, field_selector="reason=Scheduled").items
        names = [event.involved_object.name for event in events]
        return [name for name in names if name.startswith(f"{_STEP_PODS}{step}-")]

    def step_pods(self) -> list[client.V1Pod]:
        """The pods of steps, whatever their state."""
        listed = self.cluster.core.list_namespaced_pod(NAMESPACE).items
        return [pod for pod in listed if pod.metadata.name.startswith(_STEP_PODS)]


def start_airflow(cluster: KubernetesCluster, services: ComposeStack) -> PodAirflow:
    """Prepares and starts Airflow, and waits until all of it is healthy."""
    values = _values()
    with phase("kubernetes: Airflow prepared"):
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        _create(cluster, [namespace, *_secrets(services), *_services(services), *migration(values)])
        wait_until(
            "the migration job has succeeded",
            lambda: _has_succeeded(cluster),
            _READY_WITHIN_S,
            cluster.log_hint,
            poll_s=1,
        )
    with phase("kubernetes: Airflow healthy"):
        _create(cluster, servers(values))
        address = cluster.core.read_namespaced_service(API_SERVER, NAMESPACE).spec.cluster_ip
        url = f"http://{address}:{API_PORT}"
        what = "every part of Airflow is healthy"
        wait_until(what, lambda: is_healthy(url), _READY_WITHIN_S, cluster.log_hint, poll_s=1)
    return PodAirflow(cluster, services, url)


def _values() -> dict[str, Any]:
    """The values file, with one CPU for a step: Airflow's pods need the other of CI's two."""
    values: dict[str, Any] = yaml.safe_load((ROOT / "include" / "helm" / "values.yaml").read_text(encoding="utf-8"))
    cpus = next(each for each in values["scheduler"]["env"] if each["name"] == "KAFKA_PARETO_STEP_CPUS")
    cpus["value"] = "1"
    return values


def _secrets(stack: ComposeStack) -> Iterator[dict[str, Any]]:
    """The Secrets listed at the top of the values file."""
    known = stack.variables
    database = f"postgresql+psycopg2://airflow:{known['AIRFLOW_DATABASE_PASSWORD']}@postgres/airflow"
    store = {"KAFKA_PARETO_S3_ENDPOINT": "http://minio:9000", "KAFKA_PARETO_S3_BUCKET": "kafka-pareto"}
    steps = store | {
        "KAFKA_PARETO_MLFLOW_TRACKING_URI": "http://mlflow:5000",
        "KAFKA_PARETO_MLFLOW_USERNAME": STEPS_USER,
        "KAFKA_PARETO_MLFLOW_PASSWORD": known["MLFLOW_STEPS_PASSWORD"],
        "KAFKA_PARETO_S3_ACCESS_KEY": "kafka-pareto",
        "KAFKA_PARETO_S3_SECRET_KEY": known["S3_PARETO_SECRET_KEY"],
        "KAFKA_PARETO_BOOTSTRAP_SERVERS": "kafka-1:9092,kafka-2:9092,kafka-3:9092",
    }
    explorer = {
        "KAFKA_PARETO_S3_ACCESS_KEY": "kafka-pareto-explorer",
        "KAFKA_PARETO_S3_SECRET_KEY": known["S3_EXPLORER_SECRET_KEY"],
    }
    logins = ("AIRFLOW_VIEWER_PASSWORD", "AIRFLOW_OPERATOR_PASSWORD", "AIRFLOW_ADMIN_PASSWORD")
    for name, content in {
        "airflow-metadata": {"connection": database},
        "airflow-fernet-key": {"fernet-key": known["AIRFLOW_FERNET_KEY"]},
        "airflow-api-key": {"api-secret-key": known["AIRFLOW_SECRET_KEY"]},
        "airflow-jwt-secret": {"jwt-secret": known["AIRFLOW_JWT_SECRET"]},
        "airflow-logins": {login: known[login] for login in logins},
        "kafka-pareto": steps,
        "kafka-pareto-explorer": store | explorer,
    }.items():
        yield kubernetes_object("v1", "Secret", name, stringData=content)


def _services(stack: ComposeStack) -> Iterator[dict[str, Any]]:
    """A headless Service for each container, so that pods resolve its name."""
    for name, port in _CONTAINERS.items():
        networks = stack.container(name)["NetworkSettings"]["Networks"].values()
        address = next(each["IPAddress"] for each in networks if each["IPAddress"])
        ports = [{"port": port, "protocol": "TCP"}]
        yield kubernetes_object("v1", "Service", name, spec={"clusterIP": "None", "ports": ports})
        slice_ = kubernetes_object("discovery.k8s.io/v1", "EndpointSlice", name, addressType="IPv4", ports=ports)
        slice_["metadata"]["labels"] = {"kubernetes.io/service-name": name}
        yield slice_ | {"endpoints": [{"addresses": [address]}]}


def _create(cluster: KubernetesCluster, objects: list[dict[str, Any]]) -> None:
    for each in objects:
        utils.create_from_dict(cluster.api, each)


def _has_succeeded(cluster: KubernetesCluster) -> bool:
    job = client.BatchV1Api(cluster.api).read_namespaced_job_status(MIGRATION, NAMESPACE)
    return bool(job.status.succeeded)
