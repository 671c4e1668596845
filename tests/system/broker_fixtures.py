"""Real Kafka brokers for tests."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing

import pytest
from confluent_kafka import Consumer, TopicPartition

from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.kafka.java import java_environment
from kafka_pareto.settings import load_settings

_SEND_TIMEOUT_S = 120


class RunningBrokers(Brokers):
    """Brokers to which a test may send records."""

    def send(self, topic: str, records: int, case: str, acks: str = "all") -> None:
        """Sends records with Kafka's own load generator and waits until it has ended."""
        tool = ["-cp", f"{self.settings.kafka_jars}/*", "org.apache.kafka.tools.ProducerPerformance"]
        what = ["--topic", topic, "--num-records", str(records), "--record-size", str(case)]
        how = [f"bootstrap.servers={self.bootstrap_servers}", f"acks={acks}"]
        subprocess.run(
            [self.settings.java, "-Xmx128m", *tool, *what, "--throughput", "-1", "--command-property", *how],
            env=java_environment(),
            capture_output=True,
            timeout=_SEND_TIMEOUT_S,
            check=True,
        )


def end_offsets(brokers: Brokers, topic: str, partitions: int) -> list[int]:
    """The high watermark of each partition."""
    with closing(Consumer({"bootstrap.servers": brokers.bootstrap_servers, "group.id": "looking"})) as consumer:
        places = [TopicPartition(topic, number) for number in range(partitions)]
        return [consumer.get_watermark_offsets(each, timeout=10)[1] for each in places]


@pytest.fixture(scope="session")
def single_broker() -> Iterator[RunningBrokers]:
    """One broker, replication factor 1."""
    with RunningBrokers(1, load_settings()) as brokers:
        yield brokers


@pytest.fixture(scope="session")
def three_brokers() -> Iterator[RunningBrokers]:
    """Three brokers, replication factor 3, min.insync.replicas 2. Who stops one starts it again."""
    with RunningBrokers(3, load_settings()) as brokers:
        yield brokers
