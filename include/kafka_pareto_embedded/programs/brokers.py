"""The embedded Kafka cluster: KRaft nodes on loopback, prepared here, run by whoever supervises the stack."""

from __future__ import annotations

import base64
import os
import string
import subprocess
import uuid
from dataclasses import dataclass
from pathlib import Path

from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.properties_file import escaped

_KAFKA = Path(__file__).parents[2] / "kafka"
_TEMPLATE = _KAFKA / "broker.properties"
_JVM_OPTIONS = _KAFKA / "broker.jvm"
_HOST = "127.0.0.1"
_FORMAT_TIMEOUT_S = 120


@dataclass(frozen=True)
class BrokerProgram:
    """One broker as a supervisor needs to know it; its log goes to stdout."""

    name: str
    argv: list[str]
    environment: dict[str, str]
    directory: Path
    port: int


def prepare_brokers(
    folder: Path, jars: Path, java: str, ports: list[tuple[int, int]], heap_mib: int = 384
) -> list[BrokerProgram]:
    """Writes the nodes' properties and formats their storage where that is still to be done.

    Args:
        folder: Where the nodes keep everything they write.
        jars: The folder that `include/kafka/pom.xml` fills.
        java: The Java 17+ command.
        ports: Broker and controller port of each node, all on 127.0.0.1. Three nodes replicate threefold.
        heap_mib: Heap of each node, in MiB.

    Raises:
        ClusterError: If the storage cannot be formatted.
    """
    nodes = [folder / f"kafka-{number}" for number in range(1, len(ports) + 1)]
    for node in nodes:
        (node / "tmp").mkdir(parents=True, exist_ok=True)
    for number, node in enumerate(nodes, start=1):
        (node / "server.properties").write_text(_properties(number, node, ports), encoding="utf-8")
    _format_storage(folder, nodes, jars, java)
    return [
        BrokerProgram(
            name=node.name,
            argv=_broker_argv(node, jars, java, heap_mib),
            environment=_environment(),
            directory=node,
            port=broker_port,
        )
        for node, (broker_port, _) in zip(nodes, ports, strict=True)
    ]


def _properties(number: int, node: Path, ports: list[tuple[int, int]]) -> str:
    broker_port, controller_port = ports[number - 1]
    return string.Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(
        node_id=number,
        host=_HOST,
        voters=",".join(f"{voter}@{_HOST}:{port}" for voter, (_, port) in enumerate(ports, start=1)),
        broker_port=broker_port,
        controller_port=controller_port,
        data_folder=escaped(str(node / "data")),
        replication_factor=min(3, len(ports)),
        min_insync_replicas=2 if len(ports) >= 3 else 1,
    )


def _format_storage(folder: Path, nodes: list[Path], jars: Path, java: str) -> None:
    # The tool writes meta.properties last, so a formatting that was cut short is taken up again.
    if all((node / "data" / "meta.properties").exists() for node in nodes):
        return
    argv = [java, *_quick_start_options(nodes[0] / "tmp"), "-cp", f"{jars}/*", "io.kafkapareto.FormatStorage"]
    argv += [_cluster_id(folder), *(str(node / "server.properties") for node in nodes)]
    remedy = f"mend the cause, or remove {folder} and start again"
    try:
        run = subprocess.run(
            argv, cwd=folder, env=_environment(), capture_output=True, text=True, timeout=_FORMAT_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ClusterError(f"formatting the brokers' storage in {folder} failed: {error}; {remedy}") from error
    if run.returncode != 0:
        said = (run.stderr or run.stdout).strip().splitlines()
        raise ClusterError(
            f"formatting the brokers' storage in {folder} failed: {said[-1] if said else 'without a word'}; {remedy}"
        )


def _cluster_id(folder: Path) -> str:
    """The id of the cluster in this folder, drawn once; Kafka allows none that begins with a dash."""
    file = folder / "cluster-id"
    if not file.exists():
        drawn = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        file.write_text(drawn.replace("-", "A", 1) if drawn.startswith("-") else drawn, encoding="utf-8")
    return file.read_text(encoding="utf-8")


def _broker_argv(node: Path, jars: Path, java: str, heap_mib: int) -> list[str]:
    return [
        java,
        f"-Xms{heap_mib}m",
        f"-Xmx{heap_mib}m",
        f"@{_JVM_OPTIONS}",
        *_folder_options(node / "tmp"),
        "-cp",
        f"{jars}/*",
        "kafka.Kafka",
        str(node / "server.properties"),
    ]


def _quick_start_options(temporary: Path) -> list[str]:
    options = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Duser.language=en"]
    return [*options, *_folder_options(temporary)]


def _folder_options(temporary: Path) -> list[str]:
    """Keeps native libraries and crash reports out of the system's folders."""
    return [f"-Djava.io.tmpdir={temporary}", f"-XX:ErrorFile={temporary}/hs_err_%p.log"]


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ}
    return {**kept, "LC_ALL": "C"}
