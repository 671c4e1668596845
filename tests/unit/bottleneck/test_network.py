"""The kernel's counters of connections to brokers, and their growth between two looks."""

from __future__ import annotations

import socket

import pytest

from kafka_pareto.bottleneck.network import Connection, Link, LinkUse, link_use, read_links, resolved

pytestmark = pytest.mark.fast

BEFORE = Link(1_000, 1.0, 0.5, 10.0, 0.1)
FIRST: Connection = (int(socket.AF_INET), b"first")
SECOND: Connection = (int(socket.AF_INET), b"second")


@pytest.mark.parametrize("address", ["127.0.0.1", "::ffff:127.0.0.1"], ids=["IPv4", "as Java connects to it"])
def test_a_connection_to_a_broker_is_found_by_its_address_with_its_bytes_sent(address: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as broker:
        port = broker.getsockname()[1]
        brokers = resolved([("127.0.0.1", port), ("no.such.host.invalid", 9092)])
        assert read_links(brokers) == {}
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family) as client:
            client.connect((address, port))
            accepted, _ = broker.accept()
            with accepted:
                client.sendall(bytes(10_000))
                while len(accepted.recv(10_000, socket.MSG_PEEK)) < 10_000:
                    pass
                (link,) = read_links(brokers).values()

    assert link.acknowledged_bytes >= 10_000
    assert link.round_trip_ms >= link.least_round_trip_ms > 0
    assert 0 <= link.receiver_full_s <= link.unacknowledged_s < 5


def test_network_time_is_the_unacknowledged_time_minus_the_receiver_limited_time() -> None:
    after = {FIRST: Link(5_000, 4.0, 1.5, 20.0, 0.1)}
    assert link_use({FIRST: BEFORE}, after, 4.0) == LinkUse(0.5, 20.0, 0.1)


def test_connections_are_weighted_by_bytes_sent_and_new_or_idle_ones_are_ignored() -> None:
    idle = {SECOND: BEFORE}
    assert link_use(idle, idle, 4.0) == LinkUse()
    assert link_use({}, idle, 4.0) == LinkUse()
    after = {FIRST: Link(4_000, 5.0, 0.5, 20.0, 0.1), SECOND: Link(2_000, 1.0, 0.5, 40.0, 0.5)}
    found = link_use({FIRST: BEFORE, SECOND: BEFORE}, after, 4.0)
    assert found.link_wait_fraction == pytest.approx(0.75)  # three quarters of the bytes were always on their way
    assert found.round_trip_ms == pytest.approx(25.0)
