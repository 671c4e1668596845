"""Finds the network interface that leads to the brokers, and its speed."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import suppress

import psutil

_BITS_PER_MBIT = 1_000_000
_ANY_PORT = 9


def interface_to(hosts: Sequence[str]) -> str | None:
    """Returns the interface through which this machine reaches the first host that is another machine; None if none is.

    A datagram socket is connected, which sends nothing, so that the kernel chooses the route.
    """
    own = {item.address: name for name, items in psutil.net_if_addrs().items() for item in items}
    for host in hosts:
        with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((host, _ANY_PORT))
            if probe.getpeername()[0] not in own:
                return own.get(probe.getsockname()[0])
    return None


def interface_bytes(interface: str) -> tuple[int, int] | None:
    """Returns how many bytes the interface has sent and received; None where it is gone."""
    found = psutil.net_io_counters(pernic=True).get(interface)
    return (found.bytes_sent, found.bytes_recv) if found else None


def interface_speed_mbit_s(interface: str) -> int:
    """Returns the interface's speed; 0 where it has none that the kernel knows, like a virtual one."""
    found = psutil.net_if_stats().get(interface)
    return max(found.speed, 0) if found else 0


def interface_busy_fraction(
    speed_mbit_s: int, before: tuple[int, int] | None, after: tuple[int, int] | None, seconds: float
) -> float | None:
    """Returns the rate of the busier direction over the interface's speed; None where either is not known."""
    if before is None or after is None or speed_mbit_s <= 0:
        return None
    busier_bytes = max(then - earlier for earlier, then in zip(before, after, strict=True))
    return 8 * busier_bytes / seconds / (speed_mbit_s * _BITS_PER_MBIT)
