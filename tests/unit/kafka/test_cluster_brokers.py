"""Preparing the embedded brokers: Java formats their storage for real, nothing is started."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.properties_file import parse_properties
from kafka_pareto.settings import load_settings
from kafka_pareto_embedded.programs.brokers import BrokerProgram, prepare_brokers

pytestmark = pytest.mark.fast

PORTS = [(19092, 19192), (19093, 19193), (19094, 19194)]


def prepare(folder: Path, ports: list[tuple[int, int]]) -> list[BrokerProgram]:
    settings = load_settings()
    return prepare_brokers(folder, settings.kafka_jars, settings.java, ports)


@pytest.fixture(scope="module")
def formatted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three brokers' folders with their storage formatted; only read, or copied. Their path needs escapes."""
    folder = tmp_path_factory.mktemp("formatted") / "a \\ b"
    prepare(folder, PORTS)
    return folder


@pytest.fixture
def copied(formatted: Path, tmp_path: Path) -> Path:
    """A copy of them that a test may spoil."""
    return Path(shutil.copytree(formatted, tmp_path, dirs_exist_ok=True))


def properties_of(program: BrokerProgram) -> dict[str, str]:
    return parse_properties((program.directory / "server.properties").read_text())


def stored_identity(program: BrokerProgram) -> dict[str, str]:
    return parse_properties((program.directory / "data" / "meta.properties").read_text())


def test_three_nodes_form_one_cluster_that_listens_on_loopback_only(formatted: Path) -> None:
    programs = prepare(formatted, PORTS)

    assert [program.name for program in programs] == ["kafka-1", "kafka-2", "kafka-3"]
    assert [program.port for program in programs] == [19092, 19093, 19094]
    assert {stored_identity(program)["cluster.id"] for program in programs} == {(formatted / "cluster-id").read_text()}
    assert [stored_identity(program)["node.id"] for program in programs] == ["1", "2", "3"]
    for program in programs:
        listeners = properties_of(program)["listeners"].split(",")
        assert all("://127.0.0.1:" in listener for listener in listeners)


def test_replication_fits_the_number_of_nodes(formatted: Path, tmp_path: Path) -> None:
    for folder, ports, replicas, min_insync in ((tmp_path, PORTS[:1], "1", "1"), (formatted, PORTS, "3", "2")):
        properties = properties_of(prepare(folder, ports)[0])

        assert properties["default.replication.factor"] == replicas
        assert properties["min.insync.replicas"] == min_insync


def test_second_preparation_keeps_the_storage_and_follows_new_ports(copied: Path) -> None:
    before = [stored_identity(program) for program in prepare(copied, PORTS)]

    programs = prepare(copied, [(29092, 29192), *PORTS[1:]])

    assert [stored_identity(program) for program in programs] == before
    assert "1@127.0.0.1:29192" in properties_of(programs[2])["controller.quorum.voters"]


def test_formatting_that_was_cut_short_is_taken_up_again(copied: Path) -> None:
    programs = prepare(copied, PORTS)
    kept = stored_identity(programs[0])
    shutil.rmtree(programs[1].directory / "data")

    programs = prepare(copied, PORTS)

    assert stored_identity(programs[0]) == kept
    assert stored_identity(programs[1])["cluster.id"] == kept["cluster.id"]


def test_formatting_that_fails_says_why_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"formatting the brokers' storage.*FormatStorage.*start again"):
        prepare_brokers(tmp_path / "state", tmp_path / "no-jars", load_settings().java, PORTS)


def test_missing_java_is_named(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="no-such-java"):
        prepare_brokers(tmp_path, load_settings().kafka_jars, "no-such-java", PORTS)
