"""The nodes of a cluster on one machine: their names, folders, ports and roles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LOOPBACK = "127.0.0.1"
_MOST_VOTERS = 3


@dataclass(frozen=True)
class Node:
    """One Kafka node.

    Attributes:
        number: Its node id, from 1.
        folder: Where it keeps everything it writes; its working directory.
        port: Where clients reach it, on 127.0.0.1.
        controller_port: Where the other nodes reach its controller; unused if it has none.
        is_controller: True if it votes in the metadata quorum beside being a broker.
    """

    number: int
    folder: Path
    port: int
    controller_port: int
    is_controller: bool

    @property
    def name(self) -> str:
        """`kafka-1`, `kafka-2`, …"""
        return self.folder.name

    @property
    def properties_file(self) -> Path:
        """The broker's properties."""
        return self.folder / "server.properties"

    @property
    def data_folder(self) -> Path:
        """The broker's topics and metadata."""
        return self.folder / "data"

    @property
    def temporary_folder(self) -> Path:
        """Native libraries and crash reports."""
        return self.folder / "tmp"

    @property
    def log_file(self) -> Path:
        """What the broker prints, where this process is its parent."""
        return self.folder / "server.log"


def nodes_in(folder: Path, ports: Sequence[tuple[int, int]]) -> list[Node]:
    """Lays out one node for each pair of broker and controller port.

    One node of a cluster of two is controller too, and three of a larger one: a quorum of two stands still when either
    is lost, and a fourth voter slows down metadata without making the cluster any safer. No node is a controller alone,
    since another JVM would take CPU from what is measured on the same machine.
    """
    voters = _MOST_VOTERS if len(ports) >= _MOST_VOTERS else 1
    return [
        Node(number, folder / f"kafka-{number}", port, controller_port, is_controller=number <= voters)
        for number, (port, controller_port) in enumerate(ports, start=1)
    ]
