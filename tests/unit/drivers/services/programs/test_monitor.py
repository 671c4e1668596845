"""Brokers that are gone, counted by refused connections if no broker answers a request."""

from __future__ import annotations

import socket
from contextlib import ExitStack

import pytest

from kafka_pareto.drivers.services.programs.monitor import ClusterHealth

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("listening", [3, 2, 0])
def test_one_unanswered_request_does_not_make_brokers_gone_that_take_connections(listening: int) -> None:
    with ExitStack() as opened:
        servers = [opened.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(3)]
        addresses = [server.getsockname() for server in servers]
        for server in servers[listening:]:
            server.close()
        health = ClusterHealth(",".join(f"{host}:{port}" for host, port in addresses), 3, answers_within_s=0.2)
        health.look()

    assert health.values == {"brokers_gone": 3.0 - listening}
