"""A broker to which tests send files of rows, and what they look at afterwards."""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from kafka_pareto.drivers.ingestion.file_ingestion import FileIngestion
from kafka_pareto.drivers.ingestion.load import BooksRequest, CheckRequest, IngestionLoad, IngestionRequest
from kafka_pareto.drivers.ingestion.output import CheckOutput, IngestionOutput
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.kafka.java import java_environment
from tests.system.broker_fixtures import RunningBrokers

ROWS, PARTITIONS = 20_000, 3


@dataclass
class Bench:
    """A broker, and files to send to topics of it."""

    brokers: RunningBrokers
    cluster: Cluster
    tool: IngestionLoad
    folder: Path
    replicas: int = 1

    @property
    def ingestion(self) -> FileIngestion:
        return FileIngestion(self.cluster, self.tool, self.folder / "state")

    def topic(self, partitions: int = PARTITIONS, **configs: dict[str, str]) -> str:
        """Makes a topic and the one of its malformed rows, each with its settings where there are any."""
        name = new_name()
        self.cluster.create_topic(name, partitions, self.replicas, configs.get("rows"))
        self.cluster.create_topic(f"{name}.malformed", 1, self.replicas, configs.get("malformed"))
        return name

    def books(self, rows: int = ROWS) -> Path:
        file = self.folder / f"books-{rows}.csv"
        if not file.exists():
            self.tool.make_books(BooksRequest(file, rows, seed=7, timeout_s=60))
        return file

    def books_with(self, line: bytes, each: int, rows: int = ROWS) -> tuple[Path, int]:
        """Returns a file of books with another line behind every so many, and how many these are."""
        file, lines = self.folder / f"others-{new_name()}.csv", self.books(rows).read_bytes().splitlines(keepends=True)
        count = 0
        with file.open("wb") as written:
            for number, book in enumerate(lines):
                written.write(book)
                if number and number % each == 0:
                    written.write(line)
                    count += 1
        return file, count

    def send(self, file: Path, topic: str, **changes: Any) -> IngestionOutput:
        request = IngestionRequest(file, topic, {"batch.size": 65536, "linger.ms": 20}, timeout_s=120)
        return self.tool.run([replace(request, **changes)])[0]

    def held(self, file: Path, topic: str, **changes: Any) -> CheckOutput:
        return self.tool.check(replace(CheckRequest(60, file=file, topic=topic), **changes))

    def records(self, topic: str, count: int, partitions: int = PARTITIONS) -> list[list[tuple[bytes, bytes]]]:
        """Returns key and value of each partition's records, in order."""
        records: list[list[tuple[bytes, bytes]]] = [[] for _ in range(partitions)]
        with closing(
            Consumer({"bootstrap.servers": self.brokers.bootstrap_servers, "group.id": "looking"})
        ) as consumer:
            consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
            while sum(map(len, records)) < count and (read := consumer.consume(count, 10)):
                for each in read:
                    records[each.partition() or 0].append((each.key() or b"", each.value() or b""))
        return records

    def malformed(self, topic: str) -> int:
        return self.cluster.end_offset(f"{topic}.malformed")

    def kafkas(self, tool: str, *options: str) -> bytes:
        """Runs one of Kafka's own tools and returns what it prints."""
        return subprocess.run(
            [
                *(self.brokers.settings.java, "-Xmx128m", "-cp", f"{self.brokers.settings.kafka_jars}/*", tool),
                *("--bootstrap-server", self.brokers.bootstrap_servers, *options),
            ],
            env=java_environment(),
            capture_output=True,
            timeout=60,
            check=True,
        ).stdout

    def set_topic(self, topic: str, setting: str) -> None:
        what = ("--entity-type", "topics", "--entity-name", topic, "--add-config", setting)
        self.kafkas("kafka.admin.ConfigCommand", "--alter", *what)


def new_name() -> str:
    return f"rows-{secrets.token_hex(4)}"


def require_equal(held: CheckOutput, rows: int) -> None:
    assert held.file is not None
    assert held.topic is not None
    assert held.file.rows == held.topic.rows == rows
    assert held.file.hash == held.topic.hash


@pytest.fixture(scope="module")
def bench(single_broker: RunningBrokers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """One broker."""
    servers, settings = single_broker.bootstrap_servers, single_broker.settings
    with Cluster(servers, None, settings) as cluster:
        yield Bench(single_broker, cluster, IngestionLoad(servers, None, settings), tmp_path_factory.mktemp("rows"))


@pytest.fixture
def replicated(three_brokers: RunningBrokers, tmp_path: Path) -> Iterator[Bench]:
    """Three brokers, with three replicas of each topic."""
    servers, settings = three_brokers.bootstrap_servers, three_brokers.settings
    with Cluster(servers, None, settings) as cluster:
        yield Bench(three_brokers, cluster, IngestionLoad(servers, None, settings), tmp_path, replicas=3)
