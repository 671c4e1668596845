"""Preparing nodes: Java formats their storage for real, nothing is started."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kafka_pareto.brokers.nodes import Node
from kafka_pareto.brokers.preparation import prepare_nodes, write_properties
from kafka_pareto.errors import BadInputError, ClusterError
from kafka_pareto.kafka.properties_file import parse_properties
from kafka_pareto.settings import load_settings

pytestmark = [pytest.mark.fast, pytest.mark.slow]

PORTS = [(19092, 19192), (19093, 19193), (19094, 19194)]


def prepare(folder: Path, ports: list[tuple[int, int]]) -> list[Node]:
    settings = load_settings()
    return prepare_nodes(folder, settings.kafka_jars, settings.java, ports)


@pytest.fixture(scope="module")
def formatted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three brokers' folders with their storage formatted; only read, or copied."""
    folder = tmp_path_factory.mktemp("formatted") / "a \\ b"
    prepare(folder, PORTS)
    return folder


@pytest.fixture
def copied(formatted: Path, tmp_path: Path) -> Path:
    """A copy of them that a test may spoil."""
    return Path(shutil.copytree(formatted, tmp_path, dirs_exist_ok=True))


def properties_of(node: Node) -> dict[str, str]:
    return parse_properties((node.properties_file).read_text())


def stored_identity(node: Node) -> dict[str, str]:
    return parse_properties((node.data_folder / "meta.properties").read_text())


def test_three_nodes_form_one_cluster_that_listens_on_loopback_only(formatted: Path) -> None:
    nodes = prepare(formatted, PORTS)

    assert [node.name for node in nodes] == ["kafka-1", "kafka-2", "kafka-3"]
    assert [node.port for node in nodes] == [19092, 19093, 19094]
    assert {stored_identity(node)["cluster.id"] for node in nodes} == {(formatted / "cluster-id").read_text()}
    assert [stored_identity(node)["node.id"] for node in nodes] == ["1", "2", "3"]
    for node in nodes:
        listeners = properties_of(node)["listeners"].split(",")
        assert all("://127.0.0.1:" in listener for listener in listeners)


def test_second_preparation_keeps_the_storage_and_follows_new_ports(copied: Path) -> None:
    before = [stored_identity(node) for node in prepare(copied, PORTS)]

    nodes = prepare(copied, [(29092, 29192), *PORTS[1:]])

    assert [stored_identity(node) for node in nodes] == before
    assert "1@127.0.0.1:29192" in properties_of(nodes[2])["controller.quorum.voters"]


def test_formatting_that_was_cut_short_is_taken_up_again(copied: Path) -> None:
    nodes = prepare(copied, PORTS)
    kept = stored_identity(nodes[0])
    shutil.rmtree(nodes[1].data_folder)

    nodes = prepare(copied, PORTS)

    assert stored_identity(nodes[0]) == kept
    assert stored_identity(nodes[1])["cluster.id"] == kept["cluster.id"]


def test_formatting_that_fails_says_why_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"formatting the brokers' storage.*FormatStorage.*start again"):
        prepare_nodes(tmp_path / "state", tmp_path / "no-jars", load_settings().java, PORTS)


def test_missing_java_is_named(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="no-such-java"):
        prepare_nodes(tmp_path, load_settings().kafka_jars, "no-such-java", PORTS)


def test_only_the_owner_may_read_properties_that_may_contain_passwords(formatted: Path) -> None:
    for number in (1, 2, 3):
        assert (formatted / f"kafka-{number}" / "server.properties").stat().st_mode & 0o777 == 0o600


def test_refused_property_leaves_the_files_as_they_are(copied: Path) -> None:
    nodes = prepare(copied, PORTS)
    before = [properties_of(node) for node in nodes]

    with pytest.raises(BadInputError, match=r"broker property log\.dirs: derived from"):
        write_properties(nodes, {"log.dirs": "/elsewhere", "num.io.threads": 2})

    assert [properties_of(node) for node in nodes] == before


def test_property_that_kafka_refuses_is_named_when_the_storage_is_formatted(tmp_path: Path) -> None:
    settings = load_settings()

    with pytest.raises(
        ClusterError, match=r"formatting .* Invalid value nonsense for configuration log\.segment\.bytes"
    ):
        prepare_nodes(tmp_path, settings.kafka_jars, settings.java, PORTS[:1], {"log.segment.bytes": "nonsense"})
