"""A Kubernetes cluster of one node, in the tests' namespaces: started, asked, ended."""

from __future__ import annotations

import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from kubernetes import client
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

from kafka_pareto_embedded.lifecycle.waiting import wait_until
from tests.compose.engine import Engine
from tests.compose.kubernetes.node_files import BRIDGE, PAUSE_IMAGE, POD_NETWORK, NodeFiles, own_address
from tests.compose.kubernetes.programs import Programs, run
from tests.compose.phases import phase

_STARTS_WITHIN_S, _ENDS_WITHIN_S, _IMPORTS_WITHIN_S = 120.0, 30.0, 300
# The kubelet sets these for the whole machine.
_SYSCTLS = (
    *("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops"),
    *("kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes"),
)


@dataclass(frozen=True)
class KubernetesCluster:
    """A running cluster; `api` sends requests as its administrator."""

    folder: Path
    api: client.ApiClient

    @property
    def core(self) -> client.CoreV1Api:
        return client.CoreV1Api(self.api)

    @property
    def log_hint(self) -> str:
        """Where the logs of all pods are."""
        return f"see the logs in {self.folder / 'pod-logs'}"

    def import_images(self, engine: Engine, images: Sequence[str]) -> None:
        """Copies images from the engine to the node, which pulls none."""
        command = ["docker", "save", *images]
        with subprocess.Popen(command, env=engine.environment(), stdout=subprocess.PIPE) as saving:
            subprocess.run(
                [*_ctr(self.folder), "images", "import", "-"],
                stdin=saving.stdout,
                stdout=subprocess.DEVNULL,
                check=True,
                timeout=_IMPORTS_WITHIN_S,
            )
        assert saving.returncode == 0, f"docker cannot save {', '.join(images)}"


@contextmanager
def kubernetes_cluster(folder: Path, engine: Engine) -> Iterator[KubernetesCluster]:
    """Runs a cluster below the folder, whose pods can reach the engine's containers."""
    node = NodeFiles(folder, own_address(), secrets.token_hex(16))
    node.write()
    with ExitStack() as undo:
        with phase("kubernetes: cluster ready"):
            cluster = _start(node, engine, undo)
        yield cluster


def _start(node: NodeFiles, engine: Engine, undo: ExitStack) -> KubernetesCluster:
    """Starts all components, and waits until the node is ready."""
    folder = node.folder
    for path in (Path("/proc/sys", name) for name in _SYSCTLS):
        undo.callback(path.write_text, path.read_text())
    undo.callback(_unmount, folder)
    programs = undo.enter_context(Programs(folder))

    def wait(what: str, condition: Callable[[], bool]) -> None:
        def holds() -> bool:
            programs.require_running()
            return condition()

        wait_until(what, holds, _STARTS_WITHIN_S, f"see the logs in {folder}", poll_s=0.5)

    cluster = KubernetesCluster(folder, undo.enter_context(client.ApiClient(node.configuration())))
    programs.start("etcd", node.etcd())
    programs.start("kube-apiserver", node.api_server())
    programs.start("containerd", ["--config", str(folder / "containerd.toml")])
    wait("the Kubernetes API is ready", lambda: _is_ready(cluster.api))
    wait("containerd answers", (folder / "containerd.sock").exists)
    undo.callback(_kill_containers, folder)
    engine.docker("build", "--tag", PAUSE_IMAGE, str(node.pause_image))
    cluster.import_images(engine, [PAUSE_IMAGE])
    for name, arguments in node.clients().items():
        programs.start(name, arguments)
    undo.callback(programs.stop, "kubelet")  # it would start killed containers again
    for direction in ("--source", "--destination"):
        rule = ["DOCKER-USER", direction, POD_NETWORK, "--jump", "ACCEPT"]
        run("iptables", "--insert", *rule)
        undo.callback(run, "iptables", "--delete", *rule)
    wait("the node is ready", lambda: _has_ready_node(cluster.core))
    return cluster


def _is_ready(api: client.ApiClient) -> bool:
    try:
        api.call_api("/readyz", "GET", response_types_map={}, auth_settings=["BearerToken"])
    except (ApiException, HTTPError, OSError):
        return False
    return True


def _has_ready_node(core: client.CoreV1Api) -> bool:
    conditions = [each for node in core.list_node().items for each in node.status.conditions or []]
    return any((each.type, each.status) == ("Ready", "True") for each in conditions)


def _kill_containers(folder: Path) -> None:
    """Kills what runs in pods, which would outlive containerd."""
    listed = [*_ctr(folder), "tasks", "list", "--quiet"]
    for name in run(*listed).split():
        with suppress(AssertionError):  # it has just ended
            run(*_ctr(folder), "tasks", "kill", "--signal", "SIGKILL", name)
    wait_until("all containers have ended", lambda: not run(*listed).split(), _ENDS_WITHIN_S, f"see {folder}")


def _unmount(folder: Path) -> None:
    """Unmounts everything below the folder, and deletes containerd's data and the pods' bridge."""
    mounted = [line.split()[1] for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()]
    for path in sorted((each for each in mounted if each.startswith(f"{folder}/")), reverse=True):
        run("umount", "--lazy", path)
    shutil.rmtree(folder / "containerd", ignore_errors=True)
    with suppress(AssertionError):  # no pod has run
        run("ip", "link", "delete", BRIDGE)


def _ctr(folder: Path) -> list[str]:
    return ["ctr", "--address", str(folder / "containerd.sock"), "--namespace", "k8s.io"]
