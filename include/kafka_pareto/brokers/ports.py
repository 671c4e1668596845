"""Find free ports on loopback."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack
from pathlib import Path

from kafka_pareto.brokers.nodes import LOOPBACK
from kafka_pareto.errors import ClusterError

_FIRST_PORT = 20_000
_LAST_PORT = 65_535
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_ports(count: int) -> list[int]:
    """Draw unused ports of 127.0.0.1.

    They are outside the kernel's ephemeral range, so no outgoing connection can take the port of a stopped server. A
    connection in TIME_WAIT reserves each for a minute, in which only a server with SO_REUSEADDR can bind it.

    Raises:
        ClusterError: If too few ports are free.
    """
    low, high = (int(text) for text in _EPHEMERAL.read_text(encoding="ascii").split())
    below, above = range(_FIRST_PORT, low), range(high + 1, _LAST_PORT + 1)
    candidates = [*(below or above)] or [*range(_FIRST_PORT, _LAST_PORT + 1)]
    random.SystemRandom().shuffle(candidates)
    with ExitStack() as reserved:
        ports: list[int] = []
        for port in candidates:
            if len(ports) == count:
                break
            probe = reserved.enter_context(socket.socket())
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
            _reserve(probe)
            ports.append(port)
    if len(ports) < count:
        raise ClusterError(f"only {len(ports)} of {count} ports on {LOOPBACK} are free; stop other servers")
    return ports


def _reserve(probe: socket.socket) -> None:
    """Leave a connection in TIME_WAIT at the probe's port, on the side that closes first."""
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # after the bind, so it fails for a reserved port
    probe.listen(1)
    with socket.create_connection(probe.getsockname(), timeout=5):
        probe.accept()[0].close()


def is_listening(port: int) -> bool:
    """Return whether a server on 127.0.0.1 accepts connections at the port."""
    try:
        with socket.create_connection((LOOPBACK, port), timeout=1):
            return True
    except OSError:
        return False
