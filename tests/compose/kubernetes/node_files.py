"""The configuration of the cluster's node: files below a folder, and the components' arguments.

Ports are fixed, since the namespaces are private. All components log in with one token, which is new for each run.
"""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from kubernetes import client

from tests.compose.certificates import key_and_certificate
from tests.compose.engine import BASE_IMAGE
from tests.compose.kubernetes.programs import NETWORK_PLUGINS

POD_NETWORK, BRIDGE, PAUSE_IMAGE = "10.88.0.0/16", "pods0", "kafka-pareto/pause:test"
_NODE, _DOMAIN, _SERVICE_NETWORK = "node", "cluster.local", "10.96.0.0/16"
_API_PORT, _ETCD = 6443, "http://127.0.0.1:2379"
_ADMINISTRATORS = "system:masters"
# The pause container only keeps its pod's namespaces open.
_PAUSE_DOCKERFILE = f'FROM {BASE_IMAGE}\nCMD ["sleep", "infinity"]\n'


@dataclass(frozen=True)
class NodeFiles:
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
                f"--cluster-cidr={POD_NETWORK}",
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
            "ranges": [[{"subnet": POD_NETWORK}]],
            "routes": [{"dst": "0.0.0.0/0"}],
            "dataDir": str(self.folder / "addresses"),
        }
        bridge = {"type": "bridge", "bridge": BRIDGE, "isGateway": True, "ipMasq": True, "ipam": addresses}
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
sandbox_image = "docker.io/{PAUSE_IMAGE}"
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


def own_address() -> str:
    """Returns the address of the interface with the default route; connecting a UDP socket sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        return str(probe.getsockname()[0])
