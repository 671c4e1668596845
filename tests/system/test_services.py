"""Orders processed by the five services on a real broker: each complete once, whichever service is killed meanwhile."""

from __future__ import annotations

import http.client
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import cast

import numpy as np
import psutil
import pytest
from confluent_kafka import Producer

from kafka_pareto.drivers.services.chain import CLIENT, SERVICES, Chain
from kafka_pareto.drivers.services.orders import find_capacity
from kafka_pareto.drivers.services.programs.hospital import Asked
from kafka_pareto.drivers.services.programs.messages import ORDER_PLACED, PLACED_ONLY, TOPICS, Record, encode
from kafka_pareto.drivers.services.studies import Capacity
from kafka_pareto.drivers.services.testbed import OpenTopology
from kafka_pareto.drivers.services.topology import Topology
from kafka_pareto.errors import LoadStartError
from kafka_pareto.kafka.cluster import Cluster
from tests.processes import left_after
from tests.system.broker_fixtures import RunningBrokers, end_offsets

pytestmark = [pytest.mark.brokers, pytest.mark.studies]

TOPOLOGY = Topology(brokers=1, replication_factor=1, partitions=3)


@dataclass
class Bench:
    """A chain of services, and the cluster below it."""

    brokers: RunningBrokers
    chain: Chain

    def placed(self, run: str, orders: int, rate_s: float = 0.0) -> tuple[Record, Record]:
        asked = Asked(run, orders, rate_s, timeout_s=60)
        self.chain.ask(asked)
        return self.chain.answer(asked), self.chain.seen(run, orders, 30)


@pytest.fixture(scope="module")
def bench(single_broker: RunningBrokers) -> Iterator[Bench]:
    with Cluster(single_broker.bootstrap_servers, None, single_broker.settings) as cluster:
        for topic in TOPICS:
            cluster.create_topic(topic, TOPOLOGY.partitions, 1, {"message.timestamp.type": "LogAppendTime"})
    with Chain(single_broker.bootstrap_servers, TOPOLOGY, rules={"lag_orders": 1_000_000}) as chain:
        yield Bench(single_broker, chain)


def require_complete(orders: int, placed: Record, seen: Record) -> None:
    assert (placed["sent"], placed["confirmed"], placed["failure"]) == (orders, orders, "")
    assert seen["complete"] == orders


def test_every_order_is_complete_once_and_records_are_spread_evenly(bench: Bench) -> None:
    before = end_offsets(bench.brokers, ORDER_PLACED, TOPOLOGY.partitions)
    placed, seen = bench.placed("burst", 600)

    require_complete(600, placed, seen)
    assert (placed["repeated"], seen["repeated"], seen["alerts"]) == (0, 0, [])
    after = end_offsets(bench.brokers, ORDER_PLACED, TOPOLOGY.partitions)
    assert after == [old + 200 for old in before]
    assert 0 < placed["latency"]["p50_ms"] <= placed["latency"]["p95_ms"] <= placed["latency"]["p99_ms"]
    assert placed["jitter_ms"] > 0
    assert placed["request_ms"] > 0
    assert placed["silent_s"] > 0
    assert sum(number for number, _ in placed["seconds"]) == 600
    assert seen["completing"]["mean_ms"] >= seen["notifying"]["mean_ms"]


@pytest.mark.long
def test_orders_at_a_rate_are_created_when_they_are_due(bench: Bench) -> None:
    placed, seen = bench.placed("paced", 200, rate_s=200)

    require_complete(200, placed, seen)
    assert placed["sending_s"] == pytest.approx(1.0, abs=0.1)
    assert placed["open_slope_s"] < 100  # most do not pile up: half of the rate would be no rate that is held


def test_placing_ends_when_too_many_orders_wait(bench: Bench) -> None:
    asked = Asked("overload", 100_000, rate_s=1_000_000.0, timeout_s=60, most_open=500)
    bench.chain.ask(asked)
    placed = bench.chain.answer(asked)

    assert 500 < placed["sent"] < 100_000
    assert placed["confirmed"] == placed["sent"]


@pytest.mark.long
def test_the_highest_sustained_rate_is_found(bench: Bench) -> None:
    opened = cast("OpenTopology", SimpleNamespace(chain=bench.chain, name="bench"))
    rule = Capacity(latency_p95_ms=2000, warmup_s=0.5, seconds=1.5, precision=2.0)
    guesses_s = defaultdict(lambda: 50.0)
    found = find_capacity(opened, Asked("capacity", 1, timeout_s=60), rule, guesses_s)

    assert found.asked.rate_s >= 50.0
    assert guesses_s == {"bench": found.asked.rate_s}
    assert found.placed["confirmed"] == found.asked.orders
    assert found.placed["latency"]["p95_ms"] <= 2000


@pytest.mark.long
def test_the_script_alone_places_faster_than_services_hand_on(bench: Bench) -> None:
    with Cluster(bench.brokers.bootstrap_servers, None, bench.brokers.settings) as cluster:
        cluster.create_topic(PLACED_ONLY, TOPOLOGY.partitions, 1, {})
    alone = bench.chain.script_orders_s()

    placed, _ = bench.placed("beside", 2000)
    assert alone > placed["orders_s"] > 0


def test_invalid_records_are_skipped(bench: Bench) -> None:
    producer = Producer({"bootstrap.servers": bench.brokers.bootstrap_servers})
    of_an_order = {"order_id": "late-0", "created_at": 1.0, "key": "k", "hospital": "h"}
    wrong = [encode({**of_an_order, "drugs": drugs}) for drugs in ("insulin", {"insulin": "two"}, None)]
    for value in (b"\xff", b"{}", encode(of_an_order), *wrong):
        for topic in TOPICS:
            producer.produce(topic, value)
    producer.flush()

    require_complete(50, *bench.placed("after", 50))


@pytest.mark.parametrize(
    "killed", [SERVICES[0], *(pytest.param(name, marks=pytest.mark.long) for name in SERVICES[1:4])]
)
def test_a_service_that_is_killed_at_any_moment_loses_no_order(bench: Bench, killed: str) -> None:
    asked = Asked(f"kill-{killed}", 2000, 1000, timeout_s=60)
    bench.chain.ask(asked)
    time.sleep(np.random.default_rng(SERVICES.index(killed)).uniform(0.2, 1.5))  # any moment
    bench.chain.kill(killed)
    bench.chain.start(killed)

    require_complete(2000, bench.chain.answer(asked), bench.chain.seen(asked.run, 2000, 30))


def test_events_are_for_who_has_the_token(bench: Bench) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", bench.chain.events_port, timeout=5)
    connection.request("GET", "/events", headers={"Authorization": "Bearer guessed"})

    assert connection.getresponse().status == http.client.UNAUTHORIZED


def test_nothing_is_left_of_a_step_that_is_killed() -> None:
    code = (
        "import sys, time\n"
        "from kafka_pareto.drivers.services.chain import Chain\n"
        "from kafka_pareto.drivers.services.topology import Topology\n"
        "chain = Chain(sys.argv[1], Topology(brokers=1, replication_factor=1, partitions=3))\n"
        "for name in ('manufacturer', 'client'): chain.start(name)\n"
        "print(*chain.pids.values(), flush=True)\n"
        "time.sleep(60)\n"
    )
    argv = [sys.executable, "-c", code, "127.0.0.1:1"]  # nobody is there, and the services wait
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as step:
        assert step.stdout
        services = [psutil.Process(int(pid)) for pid in step.stdout.readline().split()]
        assert len(services) == 2
        step.kill()
    assert left_after(services, 10) == []


def test_a_service_that_ends_by_itself_is_reported_with_its_last_output(single_broker: RunningBrokers) -> None:
    chain = Chain(single_broker.bootstrap_servers, TOPOLOGY, producer={"no.such.setting": 1})
    with pytest.raises(LoadStartError, match=r"manufacturer has ended with exit code 1: .*no.such.setting"), chain:
        pass
    assert CLIENT not in chain.pids
