"""Lay out the nodes of a cluster on one machine: their names, folders, ports and roles."""

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
        is_controller: True if it votes in the metadata quorum in addition to being a broker.
    """

    number: int
    folder: Path
    port: int
    controller_port: int
    is_controller: bool

    @property
    def name(self) -> str:
        """Return `kafka-1`, `kafka-2`, and so on."""
        return self.folder.name

    @property
    def properties_file(self) -> Path:
        """Return the file of the broker's properties."""
        return self.folder / "server.properties"

    @property
    def data_folder(self) -> Path:
        """Return the folder of the broker's topics and metadata."""
        return self.folder / "data"

    @property
    def temporary_folder(self) -> Path:
        """Return the folder of native libraries and crash reports."""
        return self.folder / "tmp"

    @property
    def log_file(self) -> Path:
        """Return the file with what the broker prints, where this process is its parent."""
        return self.folder / "server.log"


def nodes_in(folder: Path, ports: Sequence[tuple[int, int]]) -> list[Node]:
    """Lay out one node for each pair of broker and controller port.

    In a cluster of one or two, one node is also a controller; in a larger one, three are. A quorum of two stops when
    either is lost, and a fourth voter slows down metadata without making the cluster any safer. No node is a controller
    alone, since another JVM would take CPU from what is measured on the same machine.
    """
    voters = _MOST_VOTERS if len(ports) >= _MOST_VOTERS else 1
    return [
        Node(number, folder / f"kafka-{number}", port, controller_port, is_controller=number <= voters)
        for number, (port, controller_port) in enumerate(ports, start=1)
    ]
