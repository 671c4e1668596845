"""Orders processed in transactions: no confirmation comes twice, though the service that confirms is killed."""

from __future__ import annotations

import time

import pytest

from kafka_pareto.drivers.services.chain import Chain
from kafka_pareto.drivers.services.programs.hospital import Asked
from kafka_pareto.drivers.services.programs.messages import ORDER_CONFIRMATION, TOPICS
from kafka_pareto.drivers.services.topology import Topology
from kafka_pareto.kafka.cluster import Cluster
from tests.system.broker_fixtures import RunningBrokers

pytestmark = [pytest.mark.brokers, pytest.mark.long]

ORDERS = 1000
TOPOLOGY = Topology(brokers=1, replication_factor=1, partitions=3)


def test_orders_in_transactions_come_once_though_the_manufacturer_is_killed(single_broker: RunningBrokers) -> None:
    with Cluster(single_broker.bootstrap_servers, None, single_broker.settings) as cluster:
        for topic in TOPICS:
            cluster.delete_topic(topic)  # another module's tests may have left it
            cluster.create_topic(topic, TOPOLOGY.partitions, 1, {"message.timestamp.type": "LogAppendTime"})
        with Chain(single_broker.bootstrap_servers, TOPOLOGY, delivery="exactly_once") as chain:
            asked = Asked("exactly-once", ORDERS, 500, timeout_s=90)
            chain.ask(asked)
            time.sleep(0.8)
            chain.kill("manufacturer")
            chain.start("manufacturer")
            placed, seen = chain.answer(asked), chain.seen(asked.run, ORDERS, 60)
        confirmations = cluster.end_offset(ORDER_CONFIRMATION)

    assert (placed["sent"], placed["confirmed"], seen["complete"]) == (ORDERS, ORDERS, ORDERS)
    assert placed["repeated"] == 0
    assert confirmations > ORDERS  # each transaction leaves a marker
