"""A Kubernetes cluster of one node, in the tests' namespaces.

Ports are fixed, since the namespaces are private. All components log in with one token, which is new for each run.
"""

from __future__ import annotations

import json
import secrets
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from kubernetes import client
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

from kafka_pareto_embedded.lifecycle.waiting import wait_until
from tests.compose.certificates import key_and_certificate
from tests.compose.engine import BASE_IMAGE, Engine
from tests.compose.kubernetes.programs import NETWORK_PLUGINS, Programs, run
from tests.compose.phases import phase

_NODE, _DOMAIN = "node", "cluster.local"
_POD_NETWORK, _SERVICE_NETWORK, _BRIDGE = "10.88.0.0/16", "10.96.0.0/16", "pods0"
_API_PORT, _ETCD = 6443, "http://127.0.0.1:2379"
_ADMINISTRATORS = "system:masters"
_STARTS_WITHIN_S, _ENDS_WITHIN_S, _IMPORTS_WITHIN_S = 120.0, 30.0, 300
_PAUSE_IMAGE = "kafka-pareto/pause:test"
# The pause container only keeps its pod's namespaces open.
_PAUSE_DOCKERFILE = f'FROM {BASE_IMAGE}\nCMD ["sleep", "infinity"]\n'
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
    node = _NodeFiles(folder, _own_address(), secrets.token_hex(16))
    node.write()
    with ExitStack() as undo:
        with phase("kubernetes: cluster ready"):
            cluster = _start(node, engine, undo)
        yield cluster


def _start(node: _NodeFiles, engine: Engine, undo: ExitStack) -> KubernetesCluster:
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
    engine.docker("build", "--tag", _PAUSE_IMAGE, str(node.pause_image))
    cluster.import_images(engine, [_PAUSE_IMAGE])
    for name, arguments in node.clients().items():
        programs.start(name, arguments)
    undo.callback(programs.stop, "kubelet")  # it would start killed containers again
    for direction in ("--source", "--destination"):
        rule = ["DOCKER-USER", direction, _POD_NETWORK, "--jump", "ACCEPT"]
        run("iptables", "--insert", *rule)
        undo.callback(run, "iptables", "--delete", *rule)
    wait("the node is ready", lambda: _has_ready_node(cluster.core))
    return cluster


@dataclass(frozen=True)
class _NodeFiles:
    """The node's configuration below the folder; `token` is the administrator's."""

    folder: Path
    address: str
    token: str

    @property
    def server(self) -> str:
        return f"https://{self.address}:{_API_PORT}"

    @property
    def kubeconfig(self) -> Path:
        """Returns the path of the components' address and login of the API server."""
        return self.folder / "kubeconfig"

    @property
    def ca_file(self) -> Path:
        """Returns the path of the API server's self-signed certificate."""
        return self.folder / "apiserver" / "apiserver.crt"

    @property
    def pause_image(self) -> Path:
        """Returns the folder of the pause image's Dockerfile."""
        return self.folder / "pause"

    def configuration(self) -> client.Configuration:
        """Returns what a client of the API needs."""
        configuration = client.Configuration(host=self.server)
        configuration.ssl_ca_cert = str(self.ca_file)
        configuration.api_key = {"authorization": f"Bearer {self.token}"}
        return configuration

    def write(self) -> None:
        """Writes all files but the API server's certificate."""
        self.pause_image.mkdir(parents=True, exist_ok=True)
        (self.pause_image / "Dockerfile").write_text(_PAUSE_DOCKERFILE, encoding="utf-8")
        line = f"{self.token},administrator,administrator,{_ADMINISTRATORS}\n"
        (self.folder / "tokens.csv").write_text(line, encoding="utf-8")
        self._write_kubeconfig()
        self._write_keys()
        self._write_containerd()
        self._write_kubelet()
        plugins = f"bind {self.address}\nerrors\nkubernetes {_DOMAIN} {{\n kubeconfig {self.kubeconfig}\n}}"
        (self.folder / "Corefile").write_text(f".:53 {{\n{plugins}\n}}\n", encoding="utf-8")

    def etcd(self) -> list[str]:
        """Returns the arguments of etcd."""
        return ["--data-dir", str(self.folder / "etcd"), "--unsafe-no-fsync", "--log-level=warn"]

    def api_server(self) -> list[str]:
        """Returns the arguments of the API server."""
        folder = self.folder
        return [
            f"--etcd-servers={_ETCD}",
            f"--secure-port={_API_PORT}",
            f"--advertise-address={self.address}",
            f"--cert-dir={self.ca_file.parent}",
            f"--token-auth-file={folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            f"--service-cluster-ip-range={_SERVICE_NETWORK}",
            f"--service-account-issuer=https://kubernetes.default.svc.{_DOMAIN}",
            f"--service-account-key-file={folder / 'accounts.key'}",
            f"--service-account-signing-key-file={folder / 'accounts.key'}",
            f"--kubelet-client-certificate={folder / 'kubelet-client.crt'}",
            f"--kubelet-client-key={folder / 'kubelet-client.key'}",
            "--kubelet-preferred-address-types=InternalIP",
        ]

    def clients(self) -> dict[str, list[str]]:
        """Returns the components that need a running API server, and their arguments."""
        folder = self.folder
        return {
            "kube-controller-manager": [
                f"--kubeconfig={self.kubeconfig}",
                f"--service-account-private-key-file={folder / 'accounts.key'}",
                f"--root-ca-file={self.ca_file}",
                f"--flex-volume-plugin-dir={folder / 'volume-plugins'}",
                "--leader-elect=false",
                "--secure-port=0",
            ],
            "kube-scheduler": [f"--kubeconfig={self.kubeconfig}", "--leader-elect=false", "--secure-port=0"],
            "kubelet": [
                f"--kubeconfig={self.kubeconfig}",
                f"--config={folder / 'kubelet.yaml'}",
                f"--root-dir={folder / 'pods'}",
                f"--cert-dir={folder / 'kubelet-certificates'}",
                f"--hostname-override={_NODE}",
                f"--node-ip={self.address}",
            ],
            "kube-proxy": [
                f"--kubeconfig={self.kubeconfig}",
                f"--hostname-override={_NODE}",
                f"--cluster-cidr={_POD_NETWORK}",
                "--proxy-mode=iptables",
                # Leave the machine's limits of conntrack alone.
                "--conntrack-max-per-core=0",
                "--conntrack-tcp-timeout-established=0",
                "--conntrack-tcp-timeout-close-wait=0",
            ],
            "coredns": ["-conf", str(folder / "Corefile")],
        }

    def _write_kubeconfig(self) -> None:
        cluster = {"server": self.server, "certificate-authority": str(self.ca_file)}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": {"token": self.token}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "c",
        }
        self.kubeconfig.write_text(yaml.safe_dump(content), encoding="utf-8")

    def _write_keys(self) -> None:
        """Writes the key that signs service accounts' tokens, and the certificate for the kubelet's client."""
        accounts = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        pem, pkcs1 = serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL
        (self.folder / "accounts.key").write_bytes(accounts.private_bytes(pem, pkcs1, serialization.NoEncryption()))
        key, certificate = key_and_certificate("apiserver", organization=_ADMINISTRATORS)
        (self.folder / "kubelet-client.key").write_text(key, encoding="utf-8")
        (self.folder / "kubelet-client.crt").write_text(certificate, encoding="utf-8")

    def _write_containerd(self) -> None:
        addresses = {
            "type": "host-local",
            "ranges": [[{"subnet": _POD_NETWORK}]],
            "routes": [{"dst": "0.0.0.0/0"}],
            "dataDir": str(self.folder / "addresses"),
        }
        bridge = {"type": "bridge", "bridge": _BRIDGE, "isGateway": True, "ipMasq": True, "ipam": addresses}
        networks = self.folder / "networks"
        networks.mkdir(exist_ok=True)
        network = {"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge]}
        (networks / "pods.conflist").write_text(json.dumps(network), encoding="utf-8")
        # Processes here may not lower oom_score_adj.
        (self.folder / "containerd.toml").write_text(
            f"""version = 2
root = "{self.folder}/containerd"
state = "{self.folder}/containerd-state"
[grpc]
address = "{self.folder}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "docker.io/{_PAUSE_IMAGE}"
restrict_oom_score_adj = true
netns_mounts_under_state_dir = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{NETWORK_PLUGINS}"
conf_dir = "{networks}"
""",
            encoding="utf-8",
        )

    def _write_kubelet(self) -> None:
        content: dict[str, Any] = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": self.address,
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": str(self.folder / "kubelet-client.crt")},
            },
            "authorization": {"mode": "Webhook"},
            "cgroupDriver": "cgroupfs",
            "clusterDNS": [self.address],
            "clusterDomain": _DOMAIN,
            "containerRuntimeEndpoint": f"unix://{self.folder}/containerd.sock",
            "evictionHard": {"memory.available": "100Mi"},
            "imageGCHighThresholdPercent": 100,  # off
            "podLogsDir": str(self.folder / "pod-logs"),
            "readOnlyPort": 0,
            "volumePluginDir": str(self.folder / "volume-plugins"),
        }
        (self.folder / "kubelet.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")


def _own_address() -> str:
    """Returns the address of the interface with the default route; connecting a UDP socket sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        return str(probe.getsockname()[0])


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
        run("ip", "link", "delete", _BRIDGE)


def _ctr(folder: Path) -> list[str]:
    return ["ctr", "--address", str(folder / "containerd.sock"), "--namespace", "k8s.io"]
