"""Events of a Beats client reach a real broker through the aggregator: once, stamped, and acknowledged in time."""

from __future__ import annotations

import json
import secrets
import select
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer, TopicPartition

from kafka_pareto.brokers.processes import tied
from kafka_pareto.drivers.log_pipeline.filebeat_pair import AggregatorSettings, aggregator_argv
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.kafka.java import java_environment
from tests.processes import end_process
from tests.required import needs
from tests.system.beats_client import BeatsClient, ConnectionEndedError, event_of
from tests.system.broker_fixtures import RunningBrokers

JARS = Path(__file__).parents[2] / ".state" / "log-pipeline" / "aggregator"
PARTITIONS = 3
pytestmark = [
    pytest.mark.brokers,
    pytest.mark.studies,
    needs(list(JARS.glob("kafka-pareto-aggregator-*.jar")), "the aggregator is not built; `make log-pipeline` does it"),
]


@dataclass
class Aggregator:
    """A running aggregator."""

    process: subprocess.Popen[bytes]
    topic: str
    complaints: Path
    port: int = 0

    def said(self, within_s: float = 60.0) -> dict[str, Any]:
        """Returns its next line."""
        assert self.process.stdout is not None
        assert select.select([self.process.stdout], [], [], within_s)[0], "it said nothing"
        line = self.process.stdout.readline()
        assert line, self.complaints.read_text()
        return json.loads(line)

    def ended(self) -> dict[str, Any]:
        """Ends it in order and returns its counters."""
        self.process.terminate()
        counters = self.said()
        assert self.process.wait(30) == 0
        assert self.complaints.read_text() == ""
        return counters


@dataclass
class Bench:
    """A broker, and aggregators that send to topics of it."""

    brokers: RunningBrokers
    cluster: Cluster
    folder: Path
    opened: ExitStack

    def start(self, topic: str | None = None, **changes: Any) -> Aggregator:
        if topic is None:
            topic = f"logs-{secrets.token_hex(4)}"
            self.cluster.create_topic(topic, PARTITIONS, 1, {"message.timestamp.type": "LogAppendTime"})
        settings = replace(AggregatorSettings(self.brokers.bootstrap_servers, topic), **changes)
        complaints = self.folder / f"{secrets.token_hex(4)}.log"
        with complaints.open("wb") as written:
            process = subprocess.Popen(
                tied(aggregator_argv(settings, JARS, self.brokers.settings.java)),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=written,
                env=java_environment(),
            )
        self.opened.callback(end_process, process, 30)
        started = Aggregator(process, topic, complaints)
        said = started.said()
        assert said["ready"] == "aggregator"
        started.port = said["port"]
        return started

    def client(self, aggregator: Aggregator) -> BeatsClient:
        return self.opened.enter_context(BeatsClient(aggregator.port))

    def records(self, topic: str) -> list[dict[str, Any]]:
        """Reads all of the topic's records, each with the time at which the broker appended it (t5)."""
        consumer = Consumer({"bootstrap.servers": self.brokers.bootstrap_servers, "group.id": "looking"})
        try:
            places = [TopicPartition(topic, number, 0) for number in range(PARTITIONS)]
            expected = sum(consumer.get_watermark_offsets(each, timeout=10)[1] for each in places)
            consumer.assign(places)
            found: list[dict[str, Any]] = []
            deadline = time.monotonic() + 30
            while len(found) < expected:
                assert time.monotonic() < deadline, f"{len(found)} of {expected} records were read"
                message = consumer.poll(1.0)
                if message is None:
                    continue
                assert message.error() is None
                assert message.key() is None
                kind, appended_ms = message.timestamp()
                assert kind == TIMESTAMP_LOG_APPEND_TIME
                found.append({**json.loads(message.value()), "t5": appended_ms})
            return found
        finally:
            consumer.close()


@pytest.fixture
def bench(single_broker: RunningBrokers, tmp_path: Path) -> Iterator[Bench]:
    with Cluster(single_broker.bootstrap_servers, None, single_broker.settings) as cluster, ExitStack() as opened:
        yield Bench(single_broker, cluster, tmp_path, opened)


def ids(prefix: str, count: int) -> list[str]:
    return [f"{prefix}-{number}" for number in range(count)]


def test_every_event_arrives_once_with_stamps_that_never_go_back(bench: Bench) -> None:
    aggregator = bench.start()
    client = bench.client(aggregator)
    expected = ids("r", 2_000)
    for begin in range(0, len(expected), 100):  # two windows of 50 are under way, as with Filebeat's pipelining of 2
        for window in (expected[begin : begin + 50], expected[begin + 50 : begin + 100]):
            client.send([event_of(each) for each in window])
        assert [client.acknowledged(), client.acknowledged()] == [50, 50]

    counters = aggregator.ended()
    records = bench.records(aggregator.topic)

    assert sorted(record["request_id"] for record in records) == sorted(expected)
    for record in records:
        stamps = [record[f"t{number}"] for number in range(6)]
        assert stamps == sorted(stamps), record
    assert {key: counters[key] for key in ("received", "sent", "acknowledged", "failed", "malformed")} == {
        **dict.fromkeys(("received", "sent", "acknowledged"), 2_000),
        **dict.fromkeys(("failed", "malformed"), 0),
    }


def test_batches_are_as_large_as_asked_and_wait_as_long_as_asked(bench: Bench) -> None:
    aggregator = bench.start(workers=1, batch_size=10, batch_delay_ms=1_000)
    client = bench.client(aggregator)
    client.send([event_of(each) for each in ids("warm", 10)])
    assert client.acknowledged() == 10
    client.send([event_of(each) for each in ids("r", 25)])
    assert client.acknowledged() == 25

    counters = aggregator.ended()
    waited_ms = {
        record["request_id"]: record["t4"] - record["t3"]
        for record in bench.records(aggregator.topic)
        if record["request_id"].startswith("r-")
    }
    assert (counters["batches"], counters["mean_batch_size"]) == (4, 35 / 4)
    assert max(waited_ms[each] for each in ids("r", 20)) < 1_000
    assert min(waited_ms[each] for each in ids("r", 25)[20:]) >= 1_000


@pytest.mark.parametrize(("acknowledge", "acknowledged"), [("kafka", None), ("received", 20)])
def test_a_killed_aggregator_has_acknowledged_only_events_in_kafka_or_loses_them(
    bench: Bench, acknowledge: str, acknowledged: int | None
) -> None:
    # The process dies while all events are in its memory.
    aggregator = bench.start(acknowledge=acknowledge, planted_delay_ms=120_000, planted_at="send")
    client = bench.client(aggregator)
    events = [event_of(each) for each in ids("r", 20)]
    client.send(events)

    assert client.acknowledged(3.0) == acknowledged
    aggregator.process.kill()
    with pytest.raises(ConnectionEndedError):
        client.acknowledged()

    assert bench.cluster.end_offset(aggregator.topic) == 0
    if acknowledged is None:  # as Filebeat does then
        again = bench.client(bench.start(aggregator.topic))
        again.send(events)
        assert again.acknowledged() == 20
        assert sorted(record["request_id"] for record in bench.records(aggregator.topic)) == sorted(ids("r", 20))


@pytest.fixture
def paused_broker(bench: Bench) -> Iterator[Callable[[], None]]:
    """Pauses the broker when called; resumes it at the end at the latest."""
    name = next(iter(bench.brokers.nodes))
    yield lambda: bench.brokers.pause(name)
    bench.brokers.resume(name)


def resume(bench: Bench) -> None:
    bench.brokers.resume(next(iter(bench.brokers.nodes)))


@pytest.mark.long
def test_nothing_is_acknowledged_while_the_broker_is_suspended_and_all_afterwards(
    bench: Bench, paused_broker: Callable[[], None]
) -> None:
    aggregator = bench.start(batch_size=10)
    client = bench.client(aggregator)
    client.send([event_of(each) for each in ids("before", 50)])
    assert client.acknowledged() == 50

    paused_broker()
    for number in range(2):
        client.send([event_of(each) for each in ids(f"during-{number}", 50)])
    assert client.acknowledged(4.0) is None
    resume(bench)

    assert [client.acknowledged(), client.acknowledged()] == [50, 50]
    assert aggregator.ended()["acknowledged"] == 150
    expected = [*ids("before", 50), *ids("during-0", 50), *ids("during-1", 50)]
    assert sorted(record["request_id"] for record in bench.records(aggregator.topic)) == sorted(expected)


def test_shutdown_sends_the_received_events(bench: Bench) -> None:
    aggregator = bench.start(acknowledge="received", batch_size=100, batch_delay_ms=2_000)
    client = bench.client(aggregator)
    client.send([event_of(each) for each in ids("r", 30)])
    assert client.acknowledged() == 30

    assert aggregator.ended()["acknowledged"] == 30
    assert bench.cluster.end_offset(aggregator.topic) == 30


def test_a_mistake_is_reported_in_a_line_without_a_traceback(bench: Bench) -> None:
    with pytest.raises(AssertionError, match=r"bootstrap\.servers"):
        bench.start(bootstrap_servers="a host without a port")

    said = next(bench.folder.glob("*.log")).read_text()
    assert said.splitlines()[-1].startswith("aggregator: cannot start: ")
    assert "\tat " not in said
