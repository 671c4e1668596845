"""Creates Airflow's objects from `include/helm/values.yaml`, as Airflow's official chart does.

CI cannot download the chart. Unlike the chart, this module passes `config` as variables, has no init containers,
persistent volumes or autoscaling, and gives all parts but the scheduler one service account.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

RELEASE = NAMESPACE = "airflow"
API_SERVER, API_PORT = f"{RELEASE}-api-server", 8080
SCHEDULER, MIGRATION = f"{RELEASE}-scheduler", f"{RELEASE}-run-airflow-migrations"
_LOGS_PORT, _LOGS = 8793, "/opt/airflow/logs"
_HEALTH = {"httpGet": {"path": "/api/v2/monitor/health", "port": API_PORT}}
_HTTP_PROBE = {"initialDelaySeconds": 15, "timeoutSeconds": 5, "failureThreshold": 5, "periodSeconds": 10}
_EXEC_PROBE = {"initialDelaySeconds": 10, "timeoutSeconds": 20, "failureThreshold": 5, "periodSeconds": 60}
_STARTUP_PROBE = {"initialDelaySeconds": 0, "timeoutSeconds": 20, "failureThreshold": 6, "periodSeconds": 10}
_RBAC, _BINDING = "rbac.authorization.k8s.io", "airflow-pod-launcher-rolebinding"
_LAUNCHES_PODS = [
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "list", "get", "patch", "watch", "delete"]},
    {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create", "get"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["list"]},
]


def migration(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the service accounts, the scheduler's permissions, and the job that prepares Airflow's database."""
    subject = {"kind": "ServiceAccount", "name": SCHEDULER, "namespace": NAMESPACE}
    role = {"apiGroup": _RBAC, "kind": "Role", "name": "airflow-pod-launcher-role"}
    pod = _pod(values, "migrateDatabaseJob", "run-airflow-migrations")
    job = {"template": {"spec": pod | {"restartPolicy": "OnFailure"}}}
    return [
        kubernetes_object("v1", "ServiceAccount", SCHEDULER),
        kubernetes_object("v1", "ServiceAccount", API_SERVER),
        kubernetes_object(f"{_RBAC}/v1", "Role", role["name"], rules=_LAUNCHES_PODS),
        kubernetes_object(f"{_RBAC}/v1", "RoleBinding", _BINDING, roleRef=role, subjects=[subject]),
        kubernetes_object("batch/v1", "Job", MIGRATION, spec=job),
    ]


def servers(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns Airflow's servers, and the Services by which they find each other."""
    scheduler = _server(values, "scheduler", "scheduler", ports=[{"containerPort": _LOGS_PORT}])
    scheduler["spec"] |= {"serviceName": SCHEDULER}
    api_server = _server(values, "apiServer", "api-server", ports=[{"containerPort": API_PORT}])
    return [
        _service(SCHEDULER, "scheduler", _LOGS_PORT, clusterIP="None"),
        _service(API_SERVER, "api-server", API_PORT),
        scheduler | {"kind": "StatefulSet"},  # as in the chart with LocalExecutor and persistent logs
        api_server,
        _server(values, "dagProcessor", "dag-processor"),
        _server(values, "triggerer", "triggerer"),
    ]


def _server(values: Mapping[str, Any], part: str, name: str, **container: Any) -> dict[str, Any]:
    labels = {"tier": "airflow", "component": name, "release": RELEASE}
    pod = _pod(values, part, name, args=["bash", "-c", f"exec airflow {name}"], **container)
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return kubernetes_object("apps/v1", "Deployment", f"{RELEASE}-{name}", spec=spec)


def _pod(values: Mapping[str, Any], part: str, name: str, **more: Any) -> dict[str, Any]:
    own = values[part]
    image = values["images"]["airflow"]
    container = {
        "name": name,
        "image": f"{image['repository']}:{image['tag']}",
        "env": [*values["env"], *_variables(values), *own.get("env", [])],
        "resources": own["resources"],
        "securityContext": values["securityContexts"]["containers"],
        "volumeMounts": [{"name": "logs", "mountPath": _LOGS}],
        **more,
        **_probes(part, own),
        **{key: own[key] for key in ("command", "args") if own.get(key)},
    }
    is_launcher = part == "scheduler"
    return {
        "containers": [container],
        "securityContext": values["securityContexts"]["pod"],
        "serviceAccountName": SCHEDULER if is_launcher else API_SERVER,
        "automountServiceAccountToken": is_launcher,
        "terminationGracePeriodSeconds": 10,
        "volumes": [{"name": "logs", "emptyDir": {}}],
    }


def _probes(part: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the chart's probes of this part, with the values' commands and times."""
    if part == "apiServer":
        times = {"livenessProbe": _HTTP_PROBE, "readinessProbe": _HTTP_PROBE, "startupProbe": _STARTUP_PROBE}
        return {probe: _HEALTH | chart | own.get(probe, {}) for probe, chart in times.items()}
    found = {}
    for probe, chart in (("livenessProbe", _EXEC_PROBE), ("startupProbe", _STARTUP_PROBE)):
        if probe in own:
            times = {key: value for key, value in own[probe].items() if key != "command"}
            found[probe] = {"exec": {"command": own[probe]["command"]}, **chart, **times}
    return found


def _variables(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the chart's own variables, then `config` as variables; the chart mounts it as airflow.cfg."""
    metadata = values["data"]["metadataSecretName"]
    for name, secret, key in (
        ("AIRFLOW__CORE__FERNET_KEY", values["fernetKeySecretName"], "fernet-key"),
        ("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", metadata, "connection"),
        ("AIRFLOW_CONN_AIRFLOW_DB", metadata, "connection"),
        ("AIRFLOW__API__SECRET_KEY", values["apiSecretKeySecretName"], "api-secret-key"),
        ("AIRFLOW__API_AUTH__JWT_SECRET", values["jwtSecretName"], "jwt-secret"),
    ):
        yield {"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}
    address = f"http://{API_SERVER}:{API_PORT}/execution/"
    config = {"core": {"executor": values["executor"], "execution_api_server_url": address}}
    for section in (config, values["config"]):
        for name, settings in section.items():
            for key, value in settings.items():
                yield {"name": f"AIRFLOW__{name}__{key}".upper(), "value": str(value)}


def _service(name: str, component: str, port: int, **more: Any) -> dict[str, Any]:
    selector = {"tier": "airflow", "component": component, "release": RELEASE}
    return kubernetes_object("v1", "Service", name, spec={"selector": selector, "ports": [{"port": port}], **more})


def kubernetes_object(version: str, kind: str, name: str, **content: Any) -> dict[str, Any]:
    """Returns an object of Airflow's namespace."""
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}, **content}
