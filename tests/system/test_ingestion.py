"""Files of rows sent to a real broker: every row arrives once, by whichever way, through kills and a broker's death."""

from __future__ import annotations

import secrets
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from kafka_pareto.brokers.jvm import java_environment
from kafka_pareto.brokers.processes import tied
from kafka_pareto.drivers.ingestion.file_ingestion import FileIngestion, FileToSend
from kafka_pareto.errors import BadInputError, LoadToolError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.load.ingestion_load import (
    MAIN_CLASS,
    BooksRequest,
    CheckRequest,
    IngestionLoad,
    IngestionRequest,
)
from kafka_pareto.load.ingestion_output import CheckOutput, IngestionOutput
from tests.system.broker_fixtures import RunningBrokers

pytestmark = [pytest.mark.brokers, pytest.mark.studies]

ROWS, PARTITIONS = 20_000, 3


@dataclass
class Bench:
    """A broker, and files to send to topics of it."""

    brokers: RunningBrokers
    cluster: Cluster
    tool: IngestionLoad
    folder: Path
    replicas: int = 1

    def topic(self, partitions: int = PARTITIONS) -> str:
        name = f"rows-{secrets.token_hex(4)}"
        self.cluster.create_topic(name, partitions, self.replicas)
        self.cluster.create_topic(f"{name}.malformed", 1, self.replicas)
        return name

    def books(self, rows: int = ROWS) -> Path:
        file = self.folder / f"books-{rows}.csv"
        if not file.exists():
            self.tool.make_books(BooksRequest(file, rows, seed=7, timeout_s=60))
        return file

    def send(self, file: Path, topic: str, **changes: Any) -> IngestionOutput:
        request = IngestionRequest(file, topic, {"batch.size": 65536, "linger.ms": 20}, timeout_s=120)
        results = self.tool.run([replace(request, **changes)])
        return results[0].output

    def held(self, file: Path, topic: str, **changes: Any) -> CheckOutput:
        return self.tool.check(replace(CheckRequest(60, file=file, topic=topic), **changes))


@pytest.fixture(scope="module")
def bench(single_broker: RunningBrokers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    servers, settings = single_broker.bootstrap_servers, single_broker.settings
    with Cluster(servers, None, settings) as cluster:
        tool = IngestionLoad(servers, None, settings)
        yield Bench(single_broker, cluster, tool, tmp_path_factory.mktemp("rows"))


def require_equal(held: CheckOutput, rows: int) -> None:
    assert held.file is not None
    assert held.topic is not None
    assert held.file.rows == held.topic.rows == rows
    assert held.file.hash == held.topic.hash


WAYS: list[dict[str, Any]] = [
    {"reader": "substring"},
    {"reader": "line"},
    {"reader": "slices"},
    {"reader": "mapped", "producers": 2},
    {"encoding": "avro"},
    {"senders": "parallel_stream"},
    {"senders": "fork_join_2"},
    {"senders": "platform_threads_100"},
    {"path": "batches"},
    {"path": "batches", "encoding": "avro", "producers": 2},
    {"path": "batches", "properties": {"compression.type": "lz4", "batch.size": 16384, "buffer.memory": 65536}},
    {"path": "batches", "properties": {"compression.type": "zstd", "acks": "1", "enable.idempotence": False}},
    {"is_resumable": True},
    {"path": "batches", "is_resumable": True},
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(map(str, way.values())).replace(" ", ""))
def test_every_row_arrives_once_by_whichever_way(bench: Bench, way: dict[str, Any]) -> None:
    file, topic = bench.books(), bench.topic()

    output = bench.send(file, topic, **way)

    assert output.failure is None
    assert (output.rows_read, output.rows_acknowledged, output.rows_malformed) == (ROWS, ROWS, 0)
    assert bench.cluster.end_offset(topic) == ROWS
    require_equal(bench.held(file, topic, encoding=way.get("encoding", "bytes")), ROWS)


def test_two_processes_send_a_range_each(bench: Bench) -> None:
    file, topic = bench.books(), bench.topic()
    request = IngestionRequest(file, topic, {}, timeout_s=120, processes=2)

    results = bench.tool.run([request, replace(request, process=1)])

    assert sum(result.output.rows_acknowledged for result in results) == ROWS
    assert all(result.output.rows_acknowledged > ROWS // 3 for result in results)
    require_equal(bench.held(file, topic), ROWS)


def test_batches_are_read_by_kafkas_own_tool_as_any_others(bench: Bench) -> None:
    file, topic = bench.books(500), bench.topic(1)
    bench.send(file, topic, path="batches", properties={"compression.type": "lz4"})
    log = next(iter(bench.brokers.nodes.values())).data_folder
    segment = next(log.glob(f"**/{topic}-0/*.log"))

    dumped = subprocess.run(
        [
            *(bench.brokers.settings.java, "-cp", f"{bench.brokers.settings.kafka_jars}/*"),
            *("org.apache.kafka.tools.DumpLogSegments", "--files", str(segment), "--deep-iteration"),
        ],
        env=java_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout

    assert "isvalid: true" in dumped
    assert "isvalid: false" not in dumped
    assert "compresscodec: lz4" in dumped
    assert "producerId: -1" not in dumped
    assert dumped.count("| offset:") == 500


MALFORMED = {
    "fields": b"1,two\n",
    "quote": b'1,"two,3\n',
    "utf8": b"1,\xc3(,3\n",
    "too_large": b"1," + b"x" * (1 << 20) + b",3\n",
}


@pytest.mark.parametrize("path", ["producer", "batches"])
def test_every_malformed_kind_lands_beside_with_its_reason(bench: Bench, path: str) -> None:
    file, topic = bench.folder / f"malformed-{path}.csv", bench.topic()
    lines = [f"{row},title {row},{row}.5\n".encode() for row in range(200)]
    file.write_bytes(b"id,title,price\n" + b"".join(lines[:100]) + b"".join(MALFORMED.values()) + b"".join(lines[100:]))

    output = bench.send(file, topic, path=path)

    assert output.failure is None
    assert output.malformed == dict.fromkeys(MALFORMED, 1)
    assert output.first_malformed.startswith("line 102: it has another number of fields than the header: '1,two'")
    assert bench.cluster.end_offset(topic) == 200
    assert bench.cluster.end_offset(f"{topic}.malformed") == 4


def test_numbers_that_are_none_are_malformed_where_they_are_parsed(bench: Bench) -> None:
    file, topic = bench.folder / "numbers.csv", bench.topic()
    file.write_text("id,price\n" + "".join(f"{row},{row}.5\n" for row in range(100)) + "x,1.5\n7,cheap\n,\n")

    assert bench.send(file, topic, encoding="avro").malformed == {"number": 2}
    assert bench.send(file, bench.topic()).rows_malformed == 0


def test_too_many_malformed_rows_end_it_with_the_first_one(bench: Bench) -> None:
    file, topic = bench.folder / "bad.csv", bench.topic()
    file.write_text("id,price\n" + "".join(f"{row},1\n" for row in range(500)) + "1,2,3\n" * 50)

    output = bench.send(file, topic)

    assert output.failure is not None
    assert "11 of 511 rows are malformed, more than is tolerated; the first is line 502" in output.failure


@pytest.mark.parametrize("path", ["producer", "batches"])
def test_kills_at_any_moment_lose_and_repeat_nothing(bench: Bench, path: str) -> None:
    rows = 400_000
    file, topic = bench.books(rows), bench.topic(6)
    killed = 0
    for moment_s in (0.9, 1.3, 1.1):
        before = bench.cluster.end_offset(topic)
        process = started(bench, file, topic, path)
        wait_for_growth(bench, topic, before, process)
        time.sleep(moment_s - 0.9)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            killed += 1
        process.wait()
    assert killed, "it ended before it could be killed"

    output = bench.send(file, topic, path=path, is_resumable=True)

    assert output.failure is None
    assert bench.cluster.end_offset(topic) == rows
    require_equal(bench.held(file, topic), rows)


def started(bench: Bench, file: Path, topic: str, path: str) -> subprocess.Popen[bytes]:
    """Starts an ingestion that is slow enough to be killed."""
    config = bench.folder / "producer.properties"
    config.write_text(f"bootstrap.servers={bench.brokers.bootstrap_servers}\nbatch.size=16384\n")
    options = ["--file", str(file), "--topic", topic, "--path", path, "--resumable", "--max-mib-s", "20"]
    argv = [bench.brokers.settings.java, "-cp", f"{bench.brokers.settings.kafka_jars}/*", MAIN_CLASS, *options]
    return subprocess.Popen(
        tied([*argv, "--command-config", str(config)]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def wait_for_growth(bench: Bench, topic: str, before: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while bench.cluster.end_offset(topic) == before and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)


def test_a_file_of_ones_own_goes_on_where_it_was_interrupted_and_no_other_file_does(bench: Bench) -> None:
    file, topic = bench.books(), f"own-{secrets.token_hex(4)}"
    ingestion = FileIngestion(bench.cluster, bench.tool, bench.folder / "state")
    wanted = FileToSend(file, topic)

    begun = ingestion.begin(wanted)
    assert ingestion.begin(wanted) == begun
    with pytest.raises(BadInputError, match="another file"):
        ingestion.begin(replace(wanted, file=bench.books(500)))
    said: list[str] = []
    arrived = ingestion.send(begun, replace(wanted, most_mib_s=1.0), said.append, None)

    assert said
    require_equal(arrived.held, ROWS)
    with pytest.raises(BadInputError, match="was sent to it whole"):
        ingestion.begin(wanted)


def test_a_delimiter_that_does_not_fit_leaves_nothing_behind(bench: Bench) -> None:
    topic = f"own-{secrets.token_hex(4)}"
    ingestion = FileIngestion(bench.cluster, bench.tool, bench.folder / "state")

    with pytest.raises(LoadToolError, match="line 1 has one field by the delimiter"):
        ingestion.begin(FileToSend(bench.books(), topic, delimiter=";"))
    assert ingestion.begin(FileToSend(bench.books(), topic)).topic == topic


def test_a_topic_that_holds_something_or_has_other_partitions_is_refused(bench: Bench) -> None:
    topic = bench.topic()
    bench.send(bench.books(500), topic)
    ingestion = FileIngestion(bench.cluster, bench.tool, bench.folder / "state")

    with pytest.raises(BadInputError, match="holds 500 records"):
        ingestion.begin(FileToSend(bench.books(), topic))
    with pytest.raises(BadInputError, match="has 3 partitions, and PARTITIONS=5"):
        ingestion.begin(FileToSend(bench.books(), bench.topic(), partitions=5))


def test_records_of_somebody_elses_are_no_place_to_go_on(bench: Bench) -> None:
    topic = bench.topic()
    bench.send(bench.books(500), topic)

    with pytest.raises(LoadToolError, match="ends with a record that no resumable ingestion has sent"):
        bench.send(bench.books(), topic, is_resumable=True)


@pytest.mark.parametrize("path", ["producer", "batches"])
def test_a_broker_that_dies_and_comes_back_costs_no_row(
    three_brokers: RunningBrokers, tmp_path: Path, path: str
) -> None:
    rows = 400_000
    with Cluster(three_brokers.bootstrap_servers, None, three_brokers.settings) as cluster:
        tool = IngestionLoad(three_brokers.bootstrap_servers, None, three_brokers.settings)
        bench = Bench(three_brokers, cluster, tool, tmp_path, replicas=3)
        file, topic = bench.books(rows), bench.topic(6)
        outputs: list[IngestionOutput] = []
        sending = threading.Thread(
            target=lambda: outputs.append(bench.send(file, topic, path=path, most_mib_s=5.0)), daemon=True
        )
        sending.start()
        try:
            while cluster.end_offset(topic) == 0 and sending.is_alive():
                time.sleep(0.1)
            victim = sorted(three_brokers.pids)[0]
            three_brokers.kill(victim)
            time.sleep(2.0)
        finally:
            three_brokers.start(victim)
        sending.join(timeout=120)

        assert outputs
        assert outputs[0].failure is None
        assert cluster.end_offset(topic) == rows
        require_equal(bench.held(file, topic), rows)
