"""Prepare and read a broker's JMX agent (Prometheus' JMX exporter), on loopback with a random password.

The JVM's own JMX server is unsuitable: it opens a second port on all addresses, and only Java can talk to it.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import yaml

from kafka_pareto.brokers.nodes import LOOPBACK, Node
from kafka_pareto.errors import ClusterError
from kafka_pareto.settings import Settings
from kafka_pareto.shipped import INCLUDE
from kafka_pareto.storage.private_file import write_private

JMX_CONFIGURATION = INCLUDE / "containers" / "monitoring" / "jmx-exporter.yaml"
_USER = "monitor"
_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class JmxAgent:
    """One broker's JMX agent: the JVM option that loads it, and its Prometheus endpoint (HTTP basic auth)."""

    broker: str
    option: str
    url: str
    password: str = field(repr=False)
    user: str = _USER

    def read(self) -> dict[str, float]:
        """Return the configured beans and the JVM's metrics by name and labels.

        Each read costs the broker about 0.1 s of CPU time.

        Raises:
            ClusterError: If the agent does not respond.
        """
        try:
            # A proxy from the environment must not receive the password.
            with httpx.Client(auth=(self.user, self.password), timeout=_TIMEOUT_S, trust_env=False) as client:
                answer = client.get(self.url).raise_for_status()
        except httpx.HTTPError as error:
            raise ClusterError(f"broker {self.broker}: JMX agent at {self.url} does not respond: {error}") from error
        lines = [line.rpartition(" ") for line in answer.text.splitlines() if line and not line.startswith("#")]
        return {name: float(value) for name, _, value in lines}


def prepare_jmx(node: Node, port: int, configuration: Path, settings: Settings) -> JmxAgent:
    """Write the agent's configuration with a new password, readable only by its owner.

    The password protects the port on 127.0.0.1 from other users of the machine.

    Raises:
        ClusterError: If the agent's jar is missing.
    """
    jar = settings.kafka_jars.absolute().parent / "agent" / "jmx_prometheus_javaagent.jar"
    if not jar.is_file():
        raise ClusterError(
            f"{jar}: file not found; download it with include/kafka/pom.xml, or start the brokers without JMX"
        )
    password = secrets.token_urlsafe(24)
    content = yaml.safe_load(configuration.read_text(encoding="utf-8"))
    content["httpServer"] = {"authentication": {"basic": {"username": _USER, "password": password}}}
    file = node.folder / "jmx-exporter.yaml"
    write_private(file, yaml.safe_dump(content))
    address = f"{LOOPBACK}:{port}"
    return JmxAgent(node.name, f"-javaagent:{jar}={address}:{file}", f"http://{address}/metrics", password)
