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
    """Draw ports of 127.0.0.1 on which nobody listens.

    They lie outside the range from which the kernel takes ports of outgoing connections. A server that is down for a
    while gets its port back: no client's connection, not even one to that very port, can have taken it.

    Nobody else is given a port for a minute, in which its server is to begin: the kernel remembers a connection that
    was closed there (TIME_WAIT), and lets only who sets SO_REUSEADDR, as servers do, listen at it meanwhile.

    Raises:
        ClusterError: If there are not that many.
    """
    low, high = (int(text) for text in _EPHEMERAL.read_text(encoding="ascii").split())
    below, above = range(_FIRST_PORT, low), range(high + 1, _LAST_PORT + 1)
    candidates = [*(below or above)] or [*range(_FIRST_PORT, _LAST_PORT + 1)]
    random.SystemRandom().shuffle(candidates)
    with ExitStack() as held:
        ports: list[int] = []
        for port in candidates:
            if len(ports) == count:
                break
            probe = held.enter_context(socket.socket())
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
            _reserve(probe)
            ports.append(port)
    if len(ports) < count:
        raise ClusterError(f"only {len(ports)} of {count} ports on {LOOPBACK} are free; stop what listens there")
    return ports


def _reserve(probe: socket.socket) -> None:
    """Leave a closed connection at the probe's port behind; the side that closes first is the one remembered."""
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # after the bind, which was to be refused
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
