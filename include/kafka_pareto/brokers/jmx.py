"""Prepare and read a broker's JMX agent, which listens on loopback and asks for a password drawn for it.

The agent is Prometheus' JMX exporter, which comes with Kafka's jars. The JVM's own JMX server will not do: whatever
address it is told, it opens a second port on all addresses of the machine. And only Java can talk to it.
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
from kafka_pareto.storage.private_file import write_private

JMX_CONFIGURATION = Path(__file__).parents[2] / "containers" / "monitoring" / "jmx-exporter.yaml"
_USER = "monitor"
_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class JmxAgent:
    """Read the JMX agent of one broker.

    Attributes:
        option: The JVM option that loads it.
        url: Where it answers GET with Prometheus' text format, to this user and password by HTTP's basic scheme.
    """

    broker: str
    option: str
    url: str
    password: str = field(repr=False)
    user: str = _USER

    def read(self) -> dict[str, float]:
        """Return the beans of the agent's configuration and the JVM's own figures, by name and labels.

        A reading costs the broker about a tenth of a second of CPU time.

        Raises:
            ClusterError: If the agent does not answer.
        """
        try:
            # A proxy that the environment names must not see the password.
            with httpx.Client(auth=(self.user, self.password), timeout=_TIMEOUT_S, trust_env=False) as client:
                answer = client.get(self.url).raise_for_status()
        except httpx.HTTPError as error:
            raise ClusterError(f"broker {self.broker}: its JMX agent at {self.url} does not answer: {error}") from error
        lines = [line.rpartition(" ") for line in answer.text.splitlines() if line and not line.startswith("#")]
        return {name: float(value) for name, _, value in lines}


def prepare_jmx(node: Node, port: int, configuration: Path, settings: Settings) -> JmxAgent:
    """Write the agent's configuration with a new password, readable by its owner only.

    Args:
        node: The broker's node.
        port: Where the agent is to listen, on 127.0.0.1. Other users of the machine reach that too.
        configuration: The exporter's YAML file, which says what beans are read.
        settings: Where Kafka's jars are; the agent is in the same folder.

    Raises:
        ClusterError: If the agent is not there.
    """
    jar = settings.kafka_jars.absolute().parent / "agent" / "jmx_prometheus_javaagent.jar"
    if not jar.is_file():
        raise ClusterError(
            f"{jar}: no such file; fetch it with include/kafka/pom.xml, or start the brokers without JMX"
        )
    password = secrets.token_urlsafe(24)
    content = yaml.safe_load(configuration.read_text(encoding="utf-8"))
    content["httpServer"] = {"authentication": {"basic": {"username": _USER, "password": password}}}
    file = node.folder / "jmx-exporter.yaml"
    write_private(file, yaml.safe_dump(content))
    address = f"{LOOPBACK}:{port}"
    return JmxAgent(node.name, f"-javaagent:{jar}={address}:{file}", f"http://{address}/metrics", password)
