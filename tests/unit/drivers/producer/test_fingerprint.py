"""The client's machine in a campaign's fingerprint, from within a container, too."""

from __future__ import annotations

import math
import os
import socket
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from kafka_pareto.campaign.records import Fingerprint
from kafka_pareto.drivers.common.systems import fingerprint_of
from kafka_pareto.kafka.cluster import Broker
from kafka_pareto.measurement.fingerprint import CONTAINER, Container, MemoryFiles, free_memory_bytes, usable_cores
from tests.fakes import FakeCluster
from tests.unit.measuring import quick

pytestmark = pytest.mark.fast


def fingerprint(broker_host: str = "localhost", container: Container = CONTAINER) -> Fingerprint:
    description = FakeCluster().describe()
    brokers = [Broker(id=1, host=broker_host, port=9092, rack=None)]
    return fingerprint_of(description.model_copy(update={"brokers": brokers}), quick(), "a-topic", container)


def container(folder: Path) -> Container:
    return Container(cpu_limit=folder / "cpu.max", older_cpu_limit=(folder / "quota", folder / "period"))


@pytest.mark.parametrize(
    ("limit", "cores"),
    [("max 100000", 8), ("200000 100000", 2), ("150000 100000", 1.5), ("50000 100000", 0.5), ("9900000 100000", 8)],
)
def test_a_containers_limit_is_the_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, cores: float
) -> None:
    (tmp_path / "cpu.max").write_text(f"{limit}\n")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    assert usable_cores(container(tmp_path)) == cores
    assert fingerprint(container=container(tmp_path)).client_cores == math.ceil(cores)


@pytest.mark.parametrize(("quota", "cores"), [("-1", 8), ("150000", 1.5)])
def test_so_is_one_of_the_older_control_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quota: str, cores: float
) -> None:
    (tmp_path / "quota").write_text(f"{quota}\n")
    (tmp_path / "period").write_text("100000\n")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    assert usable_cores(container(tmp_path)) == cores


def test_without_a_limit_the_client_has_the_cores_that_it_may_run_on(tmp_path: Path) -> None:
    known = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(known)})
        assert usable_cores(container(tmp_path)) == 1
    finally:
        os.sched_setaffinity(0, known)
    assert fingerprint(container=container(tmp_path)).client_cores == len(known)


@pytest.mark.parametrize(
    ("host", "in_a_container", "shared"),
    [
        ("localhost", False, True),
        ("172.20.0.9", True, True),  # a container on the same bridge
        ("172.21.0.9", True, False),
        ("172.20.0.9", False, False),  # a machine of the same network
        ("127.0.1.1", False, True),
        ("broker.example.com", False, True),
        ("other.example.com", False, False),
    ],
)
def test_brokers_on_the_clients_host_share_its_machine_in_containers_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, in_a_container: bool, shared: bool
) -> None:
    address = SimpleNamespace(family=socket.AF_INET, address="172.20.0.5", netmask="255.255.0.0")
    names = {"broker.example.com": "172.20.0.5", "other.example.com": "172.20.0.9"}
    monkeypatch.setattr(socket, "gethostbyname", lambda name: names.get(name, name))
    monkeypatch.setattr(psutil, "net_if_addrs", lambda: {"eth0": [address]})
    container = Container(docker_mark=tmp_path if in_a_container else tmp_path / "none")
    assert fingerprint(host, container).load_and_brokers_share_a_machine is shared


@pytest.mark.parametrize(
    ("limit", "free_bytes"),
    [("max", 8_000), ("5000", 5_000 - 3_000 + 400), ("2000", 0), ("9223372036854771712", 8_000)],
)
def test_a_containers_limit_bounds_the_free_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, free_bytes: int
) -> None:
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=8_000))
    for name, text in (("limit", limit), ("used", "3000"), ("stat", "anon 100\ninactive_file 400")):
        (tmp_path / name).write_text(f"{text}\n", encoding="ascii")
    files = MemoryFiles(tmp_path / "limit", tmp_path / "used", tmp_path / "stat", "inactive_file")
    elsewhere = MemoryFiles(tmp_path / "no", tmp_path / "no", tmp_path / "no", "inactive_file")
    assert free_memory_bytes(Container(memory=(elsewhere, files))) == free_bytes
