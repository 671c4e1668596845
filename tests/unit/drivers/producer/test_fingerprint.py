"""What a campaign's fingerprint says of the client's machine, seen from within a container too."""

from __future__ import annotations

import socket
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from kafka_pareto.campaign.records import Fingerprint
from kafka_pareto.drivers.producer.fingerprint import fingerprint_of
from kafka_pareto.kafka.cluster import Broker
from kafka_pareto.measurement.fingerprint import CONTAINER, Container
from tests.fakes import FakeCluster
from tests.unit.measuring import quick

pytestmark = pytest.mark.fast


def fingerprint(broker_host: str = "localhost", container: Container = CONTAINER) -> Fingerprint:
    description = FakeCluster().describe()
    brokers = [Broker(id=1, host=broker_host, port=9092, rack=None)]
    return fingerprint_of(description.model_copy(update={"brokers": brokers}), quick(), "a-topic", container)


@pytest.mark.parametrize(
    ("limit", "cores"),
    [("max 100000", 8), ("200000 100000", 2), ("150000 100000", 2), ("50000 100000", 1), ("9900000 100000", 8)],
)
def test_a_containers_limit_is_what_the_client_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, cores: int
) -> None:
    (tmp_path / "cpu.max").write_text(f"{limit}\n")
    monkeypatch.setattr(psutil, "cpu_count", lambda: 8)
    assert fingerprint(container=Container(cpu_limit=tmp_path / "cpu.max")).client_cores == cores


def test_without_a_limit_the_client_has_the_whole_machine(tmp_path: Path) -> None:
    assert fingerprint(container=Container(cpu_limit=tmp_path / "none")).client_cores == psutil.cpu_count()


@pytest.mark.parametrize(
    ("host", "in_a_container", "shared"),
    [
        ("localhost", False, True),
        ("172.20.0.9", True, True),  # a container on the same bridge
        ("172.21.0.9", True, False),
        ("172.20.0.9", False, False),  # a machine of the same network
    ],
)
def test_brokers_in_containers_beside_the_client_share_its_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, in_a_container: bool, shared: bool
) -> None:
    address = SimpleNamespace(family=socket.AF_INET, address="172.20.0.5", netmask="255.255.0.0")
    monkeypatch.setattr(psutil, "net_if_addrs", lambda: {"eth0": [address]})
    container = Container(docker_mark=tmp_path if in_a_container else tmp_path / "none")
    assert fingerprint(host, container).load_and_brokers_share_a_machine is shared
