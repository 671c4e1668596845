"""Airflow in the cluster, with brokers, store, MLflow and Postgres in containers beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import yaml
from kubernetes import client, utils

from kafka_pareto_embedded.airflow_api.administrator import is_healthy
from kafka_pareto_embedded.airflow_api.client import AirflowClient
from kafka_pareto_embedded.airflow_api.connection import AirflowConnection, Login
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from tests.compose.kubernetes.cluster import KubernetesCluster
from tests.compose.kubernetes.release import API_PORT, API_SERVER, MIGRATION, NAMESPACE, migration, servers
from tests.compose.phases import phase
from tests.compose.stack import ROOT, ComposeStack

_READY_WITHIN_S = 420.0
_STEP_PODS = "kafka-pareto-step-"
# What the chart's user provides, with its ports; each keeps its container's name.
_CONTAINERS = {"kafka-1": 9092, "kafka-2": 9092, "kafka-3": 9092, "minio": 9000, "mlflow": 5000, "postgres": 5432}


@dataclass(frozen=True)
class PodAirflow:
    """Airflow in pods; `services` are the containers that it uses, `url` is its API server's."""

    cluster: KubernetesCluster
    services: ComposeStack
    url: str

    @contextmanager
    def login(self, name: str) -> Iterator[AirflowClient]:
        """A client of Airflow's API with the rights of this user."""
        login = Login(name, self.services.variables[f"AIRFLOW_{name.upper()}_PASSWORD"])
        with AirflowClient(AirflowConnection(self.url, login)) as api:
            yield api

    def secrets_in(self, text: str) -> list[str]:
        """The names of the store's and of MLflow's passwords that the text contains."""
        known = self.services.variables.items()
        return [name for name, value in known if name.startswith(("S3_", "MLFLOW_")) and value in text]

    def pods_of(self, step: str) -> list[str]:
        """The names of all pods of this step that the cluster has placed on its node."""
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
        wait_until("Airflow is prepared", lambda: _has_succeeded(cluster), _READY_WITHIN_S, _logs(cluster), poll_s=1)
    with phase("kubernetes: Airflow healthy"):
        _create(cluster, servers(values))
        address = cluster.core.read_namespaced_service(API_SERVER, NAMESPACE).spec.cluster_ip
        url = f"http://{address}:{API_PORT}"
        what = "every part of Airflow is healthy"
        wait_until(what, lambda: is_healthy(url), _READY_WITHIN_S, _logs(cluster), poll_s=1)
    return PodAirflow(cluster, services, url)


def _values() -> dict[str, Any]:
    """The values as a user's copy has them; a step gets one of this machine's two cores, which Airflow needs too."""
    values: dict[str, Any] = yaml.safe_load((ROOT / "include" / "helm" / "values.yaml").read_text(encoding="utf-8"))
    cpus = next(each for each in values["scheduler"]["env"] if each["name"] == "KAFKA_PARETO_STEP_CPUS")
    cpus["value"] = "1"
    return values


def _secrets(stack: ComposeStack) -> Iterator[dict[str, Any]]:
    """The Secrets listed at the top of the values file."""
    known = stack.variables
    database = f"postgresql+psycopg2://airflow:{known['AIRFLOW_DATABASE_PASSWORD']}@postgres/airflow"
    store = {"KAFKA_PARETO_S3_ENDPOINT": "http://minio:9000", "KAFKA_PARETO_S3_BUCKET": "kafka-pareto"}
    tracking = {"MLFLOW_TRACKING_URI": "http://mlflow:5000", "MLFLOW_USERNAME": "kafka-pareto"}
    steps = store | {f"KAFKA_PARETO_{name}": value for name, value in tracking.items()}
    steps |= {
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
        yield {"apiVersion": "v1", "kind": "Secret", "metadata": _metadata(name), "stringData": content}


def _services(stack: ComposeStack) -> Iterator[dict[str, Any]]:
    """A headless Service for each container, so that pods resolve its name."""
    for name, port in _CONTAINERS.items():
        networks = stack.container(name)["NetworkSettings"]["Networks"].values()
        address = next(each["IPAddress"] for each in networks if each["IPAddress"])
        ports = [{"port": port, "protocol": "TCP"}]
        spec = {"clusterIP": "None", "ports": ports}
        yield {"apiVersion": "v1", "kind": "Service", "metadata": _metadata(name), "spec": spec}
        yield {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": _metadata(name) | {"labels": {"kubernetes.io/service-name": name}},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [address]}],
            "ports": ports,
        }


def _logs(cluster: KubernetesCluster) -> str:
    return f"see the logs in {cluster.folder / 'pod-logs'}"


def _metadata(name: str) -> dict[str, Any]:
    return {"name": name, "namespace": NAMESPACE}


def _create(cluster: KubernetesCluster, objects: list[dict[str, Any]]) -> None:
    for each in objects:
        utils.create_from_dict(cluster.api, each)


def _has_succeeded(cluster: KubernetesCluster) -> bool:
    job = client.BatchV1Api(cluster.api).read_namespaced_job_status(MIGRATION, NAMESPACE)
    return bool(job.status.succeeded)
