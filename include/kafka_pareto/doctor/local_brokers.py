"""Finds the brokers that run on this machine, by the process that listens at the address that they tell clients."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

import psutil

from kafka_pareto.kafka.cluster import Broker

_MAIN_CLASS = "kafka.Kafka"


@dataclass(frozen=True)
class LocalBroker:
    """Names a broker's process here, and the network interface that its address belongs to."""

    id: int
    process_id: int
    interface: str


def local_brokers(brokers: Iterable[Broker]) -> list[LocalBroker]:
    """Returns those of the brokers whose processes can be seen here.

    A broker in a container, behind a tunnel, or of a user whose processes are hidden from this one is not among them.
    """
    interfaces = _interfaces()
    listening = _listening()
    found = []
    for broker in brokers:
        interface = next((interfaces[each] for each in _addresses(broker.host) if each in interfaces), None)
        process_id = listening.get(broker.port)
        if interface is not None and process_id is not None and _is_a_broker(process_id):
            found.append(LocalBroker(broker.id, process_id, interface))
    return found


def _interfaces() -> dict[str, str]:
    return {
        address.address.partition("%")[0]: name
        for name, addresses in psutil.net_if_addrs().items()
        for address in addresses
        if address.family in (socket.AF_INET, socket.AF_INET6)
    }


def _listening() -> dict[int, int]:
    """Maps ports that somebody listens at to process ids, as far as this user may see them."""
    with suppress(psutil.Error, OSError):
        return {
            connection.laddr.port: connection.pid
            for connection in psutil.net_connections("tcp")
            if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.pid is not None
        }
    return {}


def _addresses(host: str) -> list[str]:
    with suppress(OSError, UnicodeError):
        return [str(found[4][0]) for found in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
    return []


def _is_a_broker(process_id: int) -> bool:
    with suppress(psutil.Error):
        return _MAIN_CLASS in psutil.Process(process_id).cmdline()
    return False
