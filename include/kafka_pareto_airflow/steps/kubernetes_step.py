"""Run a step in its own pod, in Airflow's cluster and namespace."""

from __future__ import annotations

import json
from typing import Any

from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from kubernetes.client import models as k8s

from kafka_pareto.errors import BadInputError
from kafka_pareto_airflow.steps.step import KILL_GRACE_S, Step
from kafka_pareto_airflow.steps.step_settings import CLIENT_CONFIGS, SCRATCH, load_step_settings

_MANIFEST_FILE = "/airflow/xcom/return.json"  # read by the operator's sidecar
_TEMPORARY_FILES, _SCRATCH, _CLIENT_CONFIGS = "temporary-files", "scratch", "client-configs"
_NOBODY = 65534


def _powerless(**more: Any) -> k8s.V1SecurityContext:
    return k8s.V1SecurityContext(
        allow_privilege_escalation=False,
        capabilities=k8s.V1Capabilities(drop=["ALL"]),
        read_only_root_filesystem=True,
        run_as_non_root=True,
        **more,
    )


class KubernetesStep(Step, KubernetesPodOperator):
    """Run a step with KubernetesPodOperator, using the image and limits from the environment.

    The installation's settings come from the Secret named in the environment, so the pod's description contains none of
    them. The manifest is passed by the operator's XCom file. The pod is deleted when the step ends or the task is
    stopped. If a task was killed, its next try adopts the remaining pod.
    """

    def __init__(self, **kwargs: Any) -> None:
        fixed = {
            "do_xcom_push": True,
            "deferrable": False,
            "startup_timeout_seconds": 600,  # a node without the image pulls it
            "termination_grace_period": KILL_GRACE_S,  # the XCom sidecar ignores TERM, so a deleted pod stays this long
            "container_name_log_prefix_enabled": False,
            "log_pod_spec_on_failure": False,
            "termination_message_policy": "FallbackToLogsOnError",
            "automount_service_account_token": False,
            "security_context": k8s.V1PodSecurityContext(
                run_as_non_root=True, seccomp_profile=k8s.V1SeccompProfile(type="RuntimeDefault")
            ),
            "container_security_context": _powerless(),
            "xcom_sidecar_container_security_context": _powerless(run_as_user=_NOBODY),
            # The JVM unpacks compression libraries there.
            "volumes": [
                k8s.V1Volume(name=_TEMPORARY_FILES, empty_dir=k8s.V1EmptyDirVolumeSource(size_limit="512Mi")),
                k8s.V1Volume(name=_SCRATCH, empty_dir=k8s.V1EmptyDirVolumeSource()),
            ],
            "volume_mounts": [
                k8s.V1VolumeMount(name=_TEMPORARY_FILES, mount_path="/tmp"),  # noqa: S108
                k8s.V1VolumeMount(name=_SCRATCH, mount_path=SCRATCH),
            ],
        }
        super().__init__(**{**kwargs, **fixed})

    def run_step(self, command: list[str], context: Context) -> tuple[int, str]:
        """Run the step in a pod; if it fails, read its last output from the cluster."""
        self._fit_out(command)
        try:
            manifest = KubernetesPodOperator.execute_sync(self, context)
        except AirflowException:
            ended = self._ended()
            if ended is None or ended.exit_code == 0:
                raise
            if ended.reason == "OOMKilled":
                memory = load_step_settings(needed="secret").memory
                return ended.exit_code, f"the step ran out of memory; raise KAFKA_PARETO_STEP_MEMORY={memory}"
            return ended.exit_code, (ended.message or "").strip().rpartition("\n")[2]
        return 0, json.dumps(manifest)

    def _fit_out(self, command: list[str]) -> None:
        try:
            settings = load_step_settings(needed="secret")
        except BadInputError as error:
            raise AirflowFailException(str(error)) from error
        share = {"memory": settings.memory, "cpu": f"{settings.cpus:g}"}
        self.image = settings.image
        self.name = f"kafka-pareto-step-{self.step.replace('_', '-')}"
        # The entry point's arguments. Kubernetes replaces `$(NAME)` with the pod's settings, including secrets.
        self.arguments = [each.replace("$", "$$") for each in (*command, f"--manifest={_MANIFEST_FILE}")]
        self.env_from = [k8s.V1EnvFromSource(secret_ref=k8s.V1SecretEnvSource(name=settings.secret))]
        if settings.client_configs:
            login = k8s.V1SecretVolumeSource(secret_name=settings.client_configs)
            mount = k8s.V1VolumeMount(name=_CLIENT_CONFIGS, mount_path=CLIENT_CONFIGS, read_only=True)
            self.volumes.append(k8s.V1Volume(name=_CLIENT_CONFIGS, secret=login))
            self.volume_mounts.append(mount)
        self.container_resources = k8s.V1ResourceRequirements(requests=share, limits=share)

    def _ended(self) -> k8s.V1ContainerStateTerminated | None:
        """Return how the step's container ended; None if it has not."""
        status = self.remote_pod.status if self.remote_pod else None
        containers = (status.container_statuses if status else None) or []
        return next((each.state.terminated for each in containers if each.name == self.base_container_name), None)
