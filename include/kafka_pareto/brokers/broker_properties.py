"""The text of a node's `server.properties`: the template of `include/kafka`, filled in and changed as asked for."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from pathlib import Path

from kafka_pareto.brokers.nodes import LOOPBACK, Node
from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.properties_file import escaped, properties_lines, property_text

BrokerValue = str | int | float | bool

_TEMPLATE = Path(__file__).parents[2] / "kafka" / "broker.properties"
# A second source for any of these would contradict the folders and ports that everything else goes by.
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


def broker_properties(node: Node, nodes: Sequence[Node], given: Mapping[str, BrokerValue] | None = None) -> str:
    """Renders the properties of one node.

    Args:
        node: The node.
        nodes: All nodes of its cluster; three or more replicate threefold.
        given: Broker properties that replace the template's or are added to them.

    Raises:
        BadInputError: If a given property is one that follows from the nodes.
    """
    refused = sorted(_OWN & set(given or {}))
    if refused:
        raise BadInputError(f"broker property {refused[0]}: follows from the nodes' folders and ports; leave it out")
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
    roles = (
        {} if node.is_controller else {"process.roles": "broker", "listeners": f"PLAINTEXT://{LOOPBACK}:{node.port}"}
    )
    return _changed(text, {**roles, **{name: property_text(value) for name, value in (given or {}).items()}})


def _changed(text: str, changes: Mapping[str, str]) -> str:
    """The template's lines but for those that are replaced, then the changes."""
    if not changes:
        return text
    kept = [line for line in text.splitlines() if line.partition("=")[0] not in changes]
    return "\n".join(kept) + "\n\n" + properties_lines(changes)
