"""Prepare nodes on disk before they start: properties and formatted storage."""

from __future__ import annotations

import base64
import string
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from kafka_pareto.brokers.jvm import BROKER, folder_options
from kafka_pareto.brokers.nodes import LOOPBACK, Node, nodes_in
from kafka_pareto.brokers.processes import without_frames
from kafka_pareto.errors import BadInputError, ClusterError
from kafka_pareto.kafka.java import QUICK_START, cds_options, java_environment
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.kafka.properties_file import escaped, properties_lines
from kafka_pareto.shipped import INCLUDE
from kafka_pareto.storage.private_file import write_private

_FORMAT_TIMEOUT_S = 120
_CLUSTER_ID = "cluster-id"

_TEMPLATE = INCLUDE / "kafka" / "broker.properties"
# Derived from the nodes' folders and ports; overriding them would contradict the rest of the cluster.
_OWN = frozenset(
    {
        "advertised.listeners",
        "broker.id",
        "controller.quorum.bootstrap.servers",
        "controller.quorum.voters",
        "listeners",
        "log.dir",
        "log.dirs",
        "node.id",
        "process.roles",
    }
)


def prepare_nodes(
    folder: Path,
    jars: Path,
    java: str,
    ports: Sequence[tuple[int, int]],
    properties: Mapping[str, PropertyValue] | None = None,
) -> list[Node]:
    """Write the nodes' properties, and format their storage unless it is formatted.

    `ports` are each node's broker and controller port on 127.0.0.1; `properties` override or extend the template.

    Raises:
        BadInputError: If a given property is derived from the nodes.
        ClusterError: If the storage cannot be formatted.
    """
    folder, jars = folder.absolute(), jars.absolute()  # each process runs in its own folder
    nodes = nodes_in(folder, ports)
    write_properties(nodes, properties)
    _format_storage(folder, nodes, jars, java)
    return nodes


def write_properties(nodes: Sequence[Node], properties: Mapping[str, PropertyValue] | None = None) -> None:
    """Write each node's properties, which may contain passwords, to a file readable only by its owner."""
    texts = [broker_properties(node, nodes, properties) for node in nodes]
    for node, text in zip(nodes, texts, strict=True):
        node.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        node.temporary_folder.mkdir(exist_ok=True)
        write_private(node.properties_file, text)


def _format_storage(folder: Path, nodes: Sequence[Node], jars: Path, java: str) -> None:
    # The tool writes meta.properties last, so interrupted formatting is repeated.
    if all((node.data_folder / "meta.properties").exists() for node in nodes):
        return
    argv = [
        java,
        "-Xmx256m",
        *QUICK_START,
        *cds_options(jars, BROKER),  # the broker loads most of its classes
        *folder_options(nodes[0]),
        "-cp",
        f"{jars}/*",
        "io.kafkapareto.FormatStorage",
    ]
    argv += [_drawn_cluster_id(folder), *(str(node.properties_file) for node in nodes)]
    try:
        run = subprocess.run(
            argv,
            cwd=folder,
            env=java_environment(),
            capture_output=True,
            text=True,
            timeout=_FORMAT_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _formatting_failed(folder, error) from error
    if run.returncode != 0:
        output = without_frames((run.stderr or run.stdout).splitlines())
        raise _formatting_failed(folder, output[-1] if output else "no output")


def _formatting_failed(folder: Path, reason: object) -> ClusterError:
    fix = f"fix the cause, or remove {folder} and start again"
    return ClusterError(f"formatting the brokers' storage in {folder} failed: {reason}; {fix}")


def cluster_id_in(folder: Path) -> str:
    """Return the ID of the cluster prepared in this folder; empty if there is none."""
    file = folder / _CLUSTER_ID
    return file.read_text(encoding="utf-8") if file.exists() else ""


def _drawn_cluster_id(folder: Path) -> str:
    """Return the cluster ID in this folder, generated once; Kafka rejects a leading dash."""
    if not cluster_id_in(folder):  # earlier releases could leave it empty
        drawn = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        write_private(folder / _CLUSTER_ID, drawn.replace("-", "A", 1) if drawn.startswith("-") else drawn)
    return cluster_id_in(folder)


def broker_properties(node: Node, nodes: Sequence[Node], given: Mapping[str, PropertyValue] | None = None) -> str:
    """Render the properties of one of the cluster's nodes; given properties override or extend the template.

    Raises:
        BadInputError: If a given property is derived from the nodes.
    """
    refused = sorted(_OWN & set(given or {}))
    if refused:
        raise BadInputError(f"broker property {refused[0]}: derived from the nodes' folders and ports; remove it")
    text = string.Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(
        node_id=node.number,
        host=LOOPBACK,
        voters=",".join(f"{each.number}@{LOOPBACK}:{each.controller_port}" for each in nodes if each.is_controller),
        broker_port=node.port,
        controller_port=node.controller_port,
        data_folder=escaped(str(node.data_folder)),
        replication_factor=min(3, len(nodes)),
        min_insync_replicas=2 if len(nodes) >= 3 else 1,
    )
    changes: dict[str, PropertyValue] = {}
    if not node.is_controller:
        changes = {"process.roles": "broker", "listeners": f"PLAINTEXT://{LOOPBACK}:{node.port}"}
    changes |= given or {}
    if not changes:
        return text
    kept = [line for line in text.splitlines() if line.partition("=")[0] not in changes]
    return "\n".join(kept) + "\n\n" + properties_lines(changes)
