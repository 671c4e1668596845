"""Define the nodes of a local cluster: names, folders, ports and roles."""

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
        number: Node ID, from 1.
        folder: Its working directory, which has all its files.
        controller_port: Unused if the node is not a controller.
        is_controller: True if the broker also votes in the metadata quorum.
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
        """Return the path of the broker's properties."""
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
        """Return the file of the broker's output, if this process is its parent."""
        return self.folder / "server.log"


def nodes_in(folder: Path, ports: Sequence[tuple[int, int]]) -> list[Node]:
    """Create one node per pair of broker and controller port.

    Up to two nodes have one controller, larger clusters three: a quorum of two fails if either is lost, and a fourth
    voter only slows down metadata. Controllers are also brokers, since another JVM would take CPU from the load.
    """
    voters = _MOST_VOTERS if len(ports) >= _MOST_VOTERS else 1
    return [
        Node(number, folder / f"kafka-{number}", port, controller_port, is_controller=number <= voters)
        for number, (port, controller_port) in enumerate(ports, start=1)
    ]
