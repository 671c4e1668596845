"""A step by the Kubernetes runner as far as that goes without a cluster: the pod that is asked for, and its end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from airflow.sdk.execution_time.task_runner import _run_execute_callable
from kubernetes.client import ApiClient, V1Pod

from kafka_pareto_airflow.steps.kubernetes_step import KubernetesStep
from kafka_pareto_airflow.steps.step import KILL_GRACE_S

pytestmark = pytest.mark.servers  # its client takes seconds to import

SETTINGS = {"IMAGE": "kafka-pareto/steps:1.0", "SECRET": "kafka-pareto", "MEMORY": "3Gi", "CPUS": "1.5"}
# Of no cluster: nothing is sent anywhere.
_KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: "http://127.0.0.1:9"}}]
contexts: [{name: none, context: {cluster: none, user: none, namespace: airflow}}]
users: [{name: none, user: {}}]
current-context: none
"""


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PARETO_S3_SECRET_KEY", "s3cr3t")
    for name, value in SETTINGS.items():
        monkeypatch.setenv(f"KAFKA_PARETO_STEP_{name}", value)


class ClusterOfOneEnd:
    """Stand-in for the cluster: records the requested pod, and ends its step as the test says."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._config_file = folder / "kubeconfig"
        self._config_file.write_text(_KUBECONFIG, encoding="utf-8")
        self.manifest: dict[str, Any] = {"cases": ["1024", "8192"]}
        self.exit_code = 0
        self.said = ""
        self.reason = "Error"
        self.pod: dict[str, Any] = {}
        monkeypatch.setattr(KubernetesPodOperator, "execute_sync", lambda operator, _: self._run(operator))

    def _run(self, operator: KubernetesPodOperator) -> dict[str, Any]:
        operator.config_file = str(self._config_file)
        self.pod = as_sent(operator.build_pod_request_obj(None))
        state = {"terminated": {"exitCode": self.exit_code, "message": self.said, "reason": self.reason}}
        status = {"name": "base", "image": "", "imageID": "", "ready": False, "restartCount": 0, "state": state}
        ended = {**self.pod, "status": {"phase": "Failed", "containerStatuses": [status]}}
        operator.remote_pod = as_received(ended)
        if self.exit_code:
            raise AirflowException("Pod returned a failure.")
        return self.manifest


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClusterOfOneEnd:
    return ClusterOfOneEnd(tmp_path, monkeypatch)


def as_sent(pod: V1Pod) -> dict[str, Any]:
    sent: dict[str, Any] = ApiClient().sanitize_for_serialization(pod)
    return sent


def as_received(sent: dict[str, Any]) -> V1Pod:
    class Answer:
        data = json.dumps(sent)

    return ApiClient().deserialize(Answer(), "V1Pod")


def execute(**options: Any) -> Any:
    pushed: dict[str, Any] = {}

    class TaskInstance:
        def xcom_push(self, key: str, value: Any) -> None:
            pushed[key] = value

    with DAG("try", schedule=None):
        given = {"arguments": ["--study=quick", ""], **options}
        operator = KubernetesStep(task_id="measure", step="check_measure", **given)
    context: Any = {"ti": TaskInstance()}
    return _run_execute_callable(context, operator.execute, operator), pushed


def container(pod: dict[str, Any], name: str = "base") -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in pod["spec"]["containers"] if each["name"] == name)
    return found


def test_the_pod_is_one_that_kubernetes_knows_every_field_of(cluster: ClusterOfOneEnd) -> None:
    """A field that its models do not know is lost on the way through them; one that lacks is an error."""
    execute()
    assert as_sent(as_received(cluster.pod)) == cluster.pod


def test_the_image_runs_the_step_with_its_arguments_and_writes_the_manifest_for_airflow(
    cluster: ClusterOfOneEnd,
) -> None:
    execute(case="8192")
    step = container(cluster.pod)
    assert step["image"] == SETTINGS["IMAGE"]
    assert not step["command"]  # the image's own entry point stays
    command = ["python", "-m", "tasks.check_measure", "--study=quick", "--case=8192"]
    assert step["args"] == [*command, "--manifest=/airflow/xcom/return.json"]
    assert {"name": "xcom", "mountPath": "/airflow/xcom"} in step["volumeMounts"]


def test_a_typed_text_reaches_the_step_as_it_was_typed_and_names_no_setting_of_the_pod(
    cluster: ClusterOfOneEnd,
) -> None:
    """Kubernetes puts a variable's value in place of `$(NAME)` in arguments; of `$$` it makes a `$`."""
    execute(arguments=["--reason=$(KAFKA_PARETO_S3_SECRET_KEY) costs $5 or $$"])
    assert "--reason=$$(KAFKA_PARETO_S3_SECRET_KEY) costs $$5 or $$$$" in container(cluster.pod)["args"]


def test_settings_come_from_the_secret_and_none_is_in_the_pods_description(cluster: ClusterOfOneEnd) -> None:
    execute()
    assert container(cluster.pod)["envFrom"] == [{"secretRef": {"name": "kafka-pareto"}}]
    assert "s3cr3t" not in json.dumps(cluster.pod)


def test_a_step_can_read_the_clusters_logins_from_a_secret_of_their_own(
    cluster: ClusterOfOneEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_PARETO_STEP_CLIENT_CONFIGS", "kafka-logins")
    execute()
    assert {"name": "client-configs", "secret": {"secretName": "kafka-logins"}} in cluster.pod["spec"]["volumes"]
    mount = {"name": "client-configs", "mountPath": "/var/lib/kafka-pareto/client-configs", "readOnly": True}
    assert mount in container(cluster.pod)["volumeMounts"]


def test_a_pod_has_no_power_and_no_more_than_its_share(cluster: ClusterOfOneEnd) -> None:
    execute()
    spec = cluster.pod["spec"]
    for each in spec["containers"]:
        context = each["securityContext"]
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert (context["allowPrivilegeEscalation"], context["readOnlyRootFilesystem"]) == (False, True)
        assert context["runAsNonRoot"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["terminationGracePeriodSeconds"] == KILL_GRACE_S
    assert spec["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert not spec.get("hostNetwork")
    assert all(set(volume) == {"name", "emptyDir"} for volume in spec["volumes"])
    assert {"name": "scratch", "mountPath": "/scratch"} in container(cluster.pod)["volumeMounts"]
    share = {"memory": "3Gi", "cpu": "1.5"}
    assert container(cluster.pod)["resources"] == {"limits": share, "requests": share}


def test_the_manifest_is_pushed_and_tasks_are_mapped_over_its_cases(cluster: ClusterOfOneEnd) -> None:
    returned, pushed = execute()
    assert returned == ["1024", "8192"]
    assert pushed == {"manifest": cluster.manifest}


@pytest.mark.parametrize("exit_code", [65, 2])
def test_refused_input_fails_without_a_retry_and_with_the_steps_own_words(
    cluster: ClusterOfOneEnd, exit_code: int
) -> None:
    cluster.exit_code, cluster.said = exit_code, "plan: 8 repetitions\nerror: seed: must be a number\n"
    with pytest.raises(AirflowFailException, match=r"^error: seed: must be a number$"):
        execute()


def test_any_other_failure_may_be_retried(cluster: ClusterOfOneEnd) -> None:
    cluster.exit_code, cluster.said = 75, "error: the store is down"
    with pytest.raises(AirflowException, match="exit code 75: error: the store is down") as raised:
        execute()
    assert not isinstance(raised.value, AirflowFailException)


def test_a_step_that_runs_out_of_memory_says_so(cluster: ClusterOfOneEnd) -> None:
    cluster.exit_code, cluster.reason = 137, "OOMKilled"
    with pytest.raises(AirflowException, match="137: the step ran out of memory; raise KAFKA_PARETO_STEP_MEMORY=3Gi"):
        execute()


@pytest.mark.parametrize("name", ["IMAGE", "SECRET", "MEMORY", "CPUS"])
def test_a_setting_that_lacks_is_named(cluster: ClusterOfOneEnd, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv(f"KAFKA_PARETO_STEP_{name}")
    with pytest.raises(
        AirflowFailException, match=f"KAFKA_PARETO_STEP_{name}: .*(set|fix) it in Airflow's environment"
    ):
        execute()
    assert cluster.pod == {}
