"""The text of a node's properties."""

from __future__ import annotations

from pathlib import Path

import javaproperties
import pytest

from kafka_pareto.brokers.nodes import nodes_in
from kafka_pareto.brokers.preparation import broker_properties
from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.known_properties import PropertyValue

pytestmark = pytest.mark.fast

FOLDER = Path("/somewhere")


def rendered(count: int, number: int, given: dict[str, PropertyValue] | None = None) -> dict[str, str]:
    nodes = nodes_in(FOLDER, [(21000 + each, 22000 + each) for each in range(1, count + 1)])
    return javaproperties.loads(broker_properties(nodes[number - 1], nodes, given))


def test_node_has_its_own_ports_and_folder() -> None:
    properties = rendered(3, 2)

    assert properties["node.id"] == "2"
    assert properties["listeners"] == "PLAINTEXT://127.0.0.1:21002,CONTROLLER://127.0.0.1:22002"
    assert properties["advertised.listeners"] == "PLAINTEXT://127.0.0.1:21002"
    assert properties["log.dirs"] == "/somewhere/kafka-2/data"


@pytest.mark.parametrize(("count", "voters"), [(1, 1), (2, 1), (3, 3), (5, 3)])
def test_every_node_knows_the_same_voters_and_no_more_than_three(count: int, voters: int) -> None:
    expected = ",".join(f"{number}@127.0.0.1:{22000 + number}" for number in range(1, voters + 1))

    assert {rendered(count, number)["controller.quorum.voters"] for number in range(1, count + 1)} == {expected}


def test_node_beyond_the_third_is_a_broker_alone() -> None:
    fourth = rendered(4, 4)

    assert rendered(4, 3)["process.roles"] == "broker,controller"
    assert fourth["process.roles"] == "broker"
    assert fourth["listeners"] == "PLAINTEXT://127.0.0.1:21004"


@pytest.mark.parametrize(
    ("count", "replicas", "min_insync"), [(1, "1", "1"), (2, "2", "1"), (3, "3", "2"), (5, "3", "2")]
)
def test_replication_fits_the_number_of_nodes(count: int, replicas: str, min_insync: str) -> None:
    properties = rendered(count, 1)

    assert properties["default.replication.factor"] == replicas
    assert properties["min.insync.replicas"] == min_insync


def test_given_properties_replace_the_templates_and_add_to_them() -> None:
    given: dict[str, PropertyValue] = {
        "log.segment.bytes": 1048576,
        "unclean.leader.election.enable": True,
        "compression.type": "lz4",
        "listener.name.plaintext.plain.sasl.jaas.config": 'Login required user_ü="a=b\\c # d";',
    }

    properties = rendered(3, 1, given)

    assert properties["log.segment.bytes"] == "1048576"
    assert properties["unclean.leader.election.enable"] == "true"
    assert properties["compression.type"] == "lz4"
    assert properties["listener.name.plaintext.plain.sasl.jaas.config"] == 'Login required user_ü="a=b\\c # d";'
    untouched = {name: value for name, value in properties.items() if name not in given}
    assert untouched == {name: value for name, value in rendered(3, 1).items() if name not in given}


def test_replaced_property_appears_once_in_the_file() -> None:
    nodes = nodes_in(FOLDER, [(21001, 22001)])

    assert broker_properties(nodes[0], nodes, {"log.segment.bytes": 1048576}).count("log.segment.bytes") == 1


@pytest.mark.parametrize("name", ["node.id", "listeners", "controller.quorum.voters", "log.dirs", "process.roles"])
def test_property_that_follows_from_the_nodes_is_refused(name: str) -> None:
    with pytest.raises(BadInputError, match=f"broker property {name}: derived from the nodes' folders and ports"):
        rendered(1, 1, {name: "x"})
