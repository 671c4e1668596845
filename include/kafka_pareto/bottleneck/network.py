"""Read how long connections to the brokers waited for the network (sock_diag(7), Linux 4.10).

An interface's speed does not reveal a slower link behind it, and a virtual interface has none. But for each connection
the kernel counts how long sent data was unacknowledged, and how much of that because the receiver lacked space. The
rest is time in transit and up to 40 ms of delayed acknowledgement. Any user can read this, for remote brokers, too. The
module also finds the interface to the brokers and its speed.
"""

from __future__ import annotations

import errno
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

import psutil

Address: TypeAlias = tuple[str, int]
"""A broker's host and port."""
Connection: TypeAlias = tuple[int, bytes]
"""A connection's family and its `inet_diag_sockid`: both ends and the kernel's socket number."""

_NETLINK_SOCK_DIAG = 4
_BY_FAMILY, _DUMP_REQUEST, _DONE, _ERROR = 20, 0x301, 3, 2
_TCP_INFO_ATTRIBUTE = 2
_ESTABLISHED = 1 << 1
_HEADER = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBBxI48x")
_MESSAGE = struct.Struct("=BBBB48s5I")
_ENDS = struct.Struct("!2xH16x16s")
_ATTRIBUTE = struct.Struct("=HH")
_RTT, _BYTES_ACKED, _LEAST_RTT, _BUSY_AND_WINDOW = (
    (struct.Struct("=I"), 68), (struct.Struct("=Q"), 120), (struct.Struct("=I"), 148), (struct.Struct("=QQ"), 168),
)  # fmt: skip
_TCP_INFO_BYTES = 184
_IPV4_IN_IPV6 = bytes(10) + b"\xff\xff"
_ANSWER_BYTES = 1 << 16
_US_PER_S, _US_PER_MS = 1e6, 1e3
_BITS_PER_MBIT = 1_000_000
_ANY_PORT = 9


@dataclass(frozen=True)
class Link:
    """The kernel's counters of one connection since its start, and its current round trip."""

    acknowledged_bytes: int
    unacknowledged_s: float
    receiver_full_s: float
    round_trip_ms: float
    least_round_trip_ms: float


@dataclass(frozen=True)
class LinkUse:
    """Connections between two samples, weighted by bytes sent, and named as in `LoadCounters`.

    All values are None if no connection existed throughout and sent data.
    """

    link_wait_fraction: float | None = None
    round_trip_ms: float | None = None
    least_round_trip_ms: float | None = None


def resolved(addresses: Sequence[Address]) -> set[tuple[int, bytes, int]]:
    """Return family, binary address and port of each broker; unknown names are skipped.

    Java uses IPv6 sockets for IPv4 addresses.
    """
    found = set()
    for host, port in addresses:
        with suppress(OSError):
            for family, _, _, _, (address, *_) in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
                binary = socket.inet_pton(family, str(address))
                found.add((int(family), binary, port))
                if family == socket.AF_INET:
                    found.add((int(socket.AF_INET6), _IPV4_IN_IPV6 + binary, port))
    return found


def read_links(brokers: set[tuple[int, bytes, int]]) -> dict[Connection, Link]:
    """Read this machine's connections to the brokers; empty if the kernel does not list them."""
    found = {}
    with suppress(OSError):
        for family in {each[0] for each in brokers}:
            for ends, information in _connections(family):
                port, address = _ENDS.unpack_from(ends)
                length = 4 if family == socket.AF_INET else 16
                if (family, address[:length], port) in brokers and len(information) >= _TCP_INFO_BYTES:
                    found[family, ends] = _link(information)
    return found


def link_use(before: Mapping[Connection, Link], after: Mapping[Connection, Link], seconds: float) -> LinkUse:
    """Return the use of the connections that existed throughout."""
    pairs = [(earlier, after[connection]) for connection, earlier in before.items() if connection in after]
    sent = [later.acknowledged_bytes - earlier.acknowledged_bytes for earlier, later in pairs]
    total = sum(sent)
    if total <= 0:
        return LinkUse()

    def mean(values: Sequence[float]) -> float:
        return sum(value * weight for value, weight in zip(values, sent, strict=True)) / total

    waits = [
        (later.unacknowledged_s - earlier.unacknowledged_s) - (later.receiver_full_s - earlier.receiver_full_s)
        for earlier, later in pairs
    ]
    return LinkUse(
        link_wait_fraction=min(max(mean(waits) / seconds, 0.0), 1.0),
        round_trip_ms=mean([later.round_trip_ms for _, later in pairs]),
        least_round_trip_ms=mean([later.least_round_trip_ms for _, later in pairs]),
    )


def _link(information: bytes) -> Link:
    (acknowledged,), (rtt_us,), (least_us,), (busy_us, receiver_us) = (
        form.unpack_from(information, place) for form, place in (_BYTES_ACKED, _RTT, _LEAST_RTT, _BUSY_AND_WINDOW)
    )
    return Link(
        acknowledged_bytes=acknowledged,
        unacknowledged_s=busy_us / _US_PER_S,
        receiver_full_s=receiver_us / _US_PER_S,
        round_trip_ms=rtt_us / _US_PER_MS,
        least_round_trip_ms=least_us / _US_PER_MS,
    )


def _connections(family: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield `inet_diag_sockid` and `tcp_info` of each established TCP connection of the family."""
    request = _REQUEST.pack(family, socket.IPPROTO_TCP, 1 << (_TCP_INFO_ATTRIBUTE - 1), _ESTABLISHED)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
        kernel.send(_HEADER.pack(_HEADER.size + len(request), _BY_FAMILY, _DUMP_REQUEST, 0, 0) + request)
        while True:
            answer, place = kernel.recv(_ANSWER_BYTES), 0
            while place < len(answer):
                length, kind, *_ = _HEADER.unpack_from(answer, place)
                if kind == _DONE:
                    return
                if kind == _ERROR:
                    raise OSError(errno.EOPNOTSUPP, "the kernel does not list connections")
                message = answer[place + _HEADER.size : place + length]
                yield _MESSAGE.unpack_from(message)[4], _information(message[_MESSAGE.size :])
                place += -(-length // 4) * 4


def _information(attributes: bytes) -> bytes:
    place = 0
    while place < len(attributes):
        length, kind = _ATTRIBUTE.unpack_from(attributes, place)
        if kind == _TCP_INFO_ATTRIBUTE:
            return attributes[place + _ATTRIBUTE.size : place + length]
        place += -(-length // 4) * 4
    return b""


def interface_to(hosts: Sequence[str]) -> str | None:
    """Return the interface to the first remote host; None if all are local.

    Connecting a datagram socket makes the kernel choose a route without sending data.
    """
    own = {item.address: name for name, items in psutil.net_if_addrs().items() for item in items}
    for host in hosts:
        with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((host, _ANY_PORT))
            if probe.getpeername()[0] not in own:
                return own.get(probe.getsockname()[0])
    return None


def interface_bytes(interface: str) -> tuple[int, int] | None:
    """Return the bytes sent and received by the interface; None if it is gone."""
    found = psutil.net_io_counters(pernic=True).get(interface)
    return (found.bytes_sent, found.bytes_recv) if found else None


def interface_speed_mbit_s(interface: str | None) -> int:
    """Return the interface's speed; 0 if unknown, as for a virtual one."""
    found = psutil.net_if_stats().get(interface) if interface else None
    return max(found.speed, 0) if found else 0


def interface_busy_fraction(
    speed_mbit_s: int, before: tuple[int, int] | None, after: tuple[int, int] | None, seconds: float
) -> float | None:
    """Return the rate of the busier direction over the interface's speed; None if either is unknown."""
    if before is None or after is None or speed_mbit_s <= 0:
        return None
    busier_bytes = max(then - earlier for earlier, then in zip(before, after, strict=True))
    return 8 * busier_bytes / seconds / (speed_mbit_s * _BITS_PER_MBIT)
