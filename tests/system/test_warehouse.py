"""Log events in a real broker's topic are in the exported Hive table, each once, whenever Spark is killed."""

from __future__ import annotations

import json
import queue
import random
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from confluent_kafka import Producer

from kafka_pareto.brokers.processes import tied
from kafka_pareto.drivers.log_pipeline.growing_file import GrowingFile
from kafka_pareto.drivers.log_pipeline.warehouse import Warehouse, read_batches
from kafka_pareto.kafka.cluster import Cluster
from tests.processes import end_process
from tests.required import needs
from tests.system.broker_fixtures import RunningBrokers

TOOLS = Path(__file__).parents[2] / ".state/log-pipeline"
PYTHON, JARS = TOOLS / "venv/bin/python", TOOLS / "spark-jars"

pytestmark = [
    pytest.mark.brokers,
    pytest.mark.long,
    needs(PYTHON.exists(), "PySpark's environment is not there; `make log-pipeline` makes it"),
    needs(JARS.exists(), "Spark's Kafka jars are not there; `make log-pipeline` fetches them"),
]

START_S = 120
MALFORMED = [b"no JSON", b"[1, 2]", b"", b'{"t0": 1}', b"\xff\xfe", b'{"request_id": "late", "t0": "noon"}']


@dataclass
class Running:
    """A warehouse that runs, and what it says."""

    process: subprocess.Popen[bytes]
    complaints: Path
    batches: GrowingFile
    said: queue.SimpleQueue[dict[str, Any]] = field(default_factory=queue.SimpleQueue)

    def next(self, key: str, within_s: float = START_S) -> dict[str, Any]:
        """Returns the next line that has the key."""
        deadline = time.monotonic() + within_s
        while True:
            with suppress(queue.Empty):
                said = self.said.get(timeout=0.1)
                if key in said:
                    return said
                continue
            assert self.process.poll() is None, self.complaints.read_text()[-4000:]
            assert time.monotonic() < deadline, self.complaints.read_text()[-4000:]

    def rows(self, rows: int) -> None:
        """Waits until this many further rows are recorded as committed."""
        deadline = time.monotonic() + START_S
        while (found := sum(batch.rows for batch in read_batches(self.batches).values())) < rows:
            assert self.process.poll() is None, self.complaints.read_text()[-4000:]
            assert time.monotonic() < deadline, self.complaints.read_text()[-4000:]
            time.sleep(0.1)
        assert found == rows
        self.batches.begin_window()

    def stop(self) -> int:
        """Ends it, and returns how many rows it has exported."""
        self.process.terminate()
        exported = self.next("exported")["exported"]
        assert self.process.wait(30) == 0
        return int(exported)


@contextmanager
def running(warehouse: Warehouse) -> Iterator[Running]:
    warehouse.folder.mkdir(exist_ok=True)
    complaints = warehouse.folder / "stderr.log"
    with complaints.open("ab") as stderr:
        process = subprocess.Popen(
            tied(warehouse.argv), stdout=subprocess.PIPE, stderr=stderr, env=warehouse.environment
        )
    spark = Running(process, complaints, GrowingFile(warehouse.batches_file))
    threading.Thread(target=_listen, args=(spark,), daemon=True).start()
    try:
        yield spark
    finally:
        end_process(process, 60)


def _listen(spark: Running) -> None:
    assert spark.process.stdout
    for line in spark.process.stdout:
        with suppress(ValueError):
            spark.said.put(json.loads(line))


@pytest.fixture
def warehouse(single_broker: RunningBrokers, request: pytest.FixtureRequest, tmp_path: Path) -> Warehouse:
    topic = str(request.node.name)
    with Cluster(single_broker.bootstrap_servers, None, single_broker.settings) as cluster:
        cluster.create_topic(topic, 2, 1, {"message.timestamp.type": "LogAppendTime"})
    return Warehouse(tmp_path / "ware house", PYTHON, JARS, single_broker.bootstrap_servers, topic)


def event(number: int) -> dict[str, Any]:
    now_ms = time.time_ns() // 1_000_000
    return {
        "request_id": f"request-{number}",
        **{f"t{stamp}": now_ms for stamp in range(5)},
        "status": 200,
        "method": "GET",
        "uri": f"/api/products/{number}?q=é",
        "bytes": 2**33,
        "session": "",
        "request_ms": 1.5,
    }


def send(warehouse: Warehouse, values: list[bytes]) -> None:
    producer = Producer({"bootstrap.servers": warehouse.bootstrap_servers})
    for value in values:
        producer.produce(warehouse.topic, value)
    assert producer.flush(30) == 0


def send_events(warehouse: Warehouse, first: int, last: int) -> None:
    send(warehouse, [json.dumps(event(number)).encode() for number in range(first, last)])


def table(warehouse: Warehouse) -> list[dict[str, Any]]:
    """Returns the exported rows, each with t7; no record is there twice, and stamps follow each other."""
    batches = read_batches(GrowingFile(warehouse.batches_file))
    rows = pyarrow.parquet.read_table(warehouse.export_file).to_pylist()
    records = {(row["kafka_partition"], row["kafka_offset"]) for row in rows}
    assert len(records) == len(rows)
    for row in rows:
        row["t7"] = batches[row["batch_id"]].t7_ms
        assert row["t5"] <= row["t6"] <= row["t7"]
        assert row["t6"] == batches[row["batch_id"]].t6_ms
    return rows


def require_each_once(rows: list[dict[str, Any]], events: int) -> None:
    assert sorted(row["request_id"] for row in rows) == sorted(f"request-{number}" for number in range(events))


def test_events_are_in_the_table_once_and_invalid_ones_are_kept(warehouse: Warehouse) -> None:
    send_events(warehouse, 0, 300)
    with running(warehouse) as spark:
        spark.next("ready")
        spark.rows(300)
        send_events(warehouse, 300, 400)
        malformed = {"malformed": "what came in", "t1": 1, "t2": 2, "t3": 3, "t4": 4}
        send(warehouse, [*MALFORMED, json.dumps(malformed).encode(), b"x" * 1000])
        spark.rows(100 + len(MALFORMED) + 2)
        exported = spark.stop()
    rows = table(warehouse)
    assert exported == len(rows) == 400 + len(MALFORMED) + 2
    assert {row["kafka_partition"] for row in rows} == {0, 1}
    require_each_once([row for row in rows if row["malformed"] is None], 400)
    (tenth,) = [row for row in rows if row["request_id"] == "request-10"]
    expected = event(10)
    for name in ("status", "method", "uri", "bytes", "session", "request_ms"):
        assert tenth[name] == expected[name]
    assert tenth["t0"] <= tenth["t4"] <= tenth["t5"]

    kept = [row for row in rows if row["malformed"] is not None]
    assert sorted(row["malformed"] for row in kept) == sorted(
        [*(value.decode(errors="replace") for value in MALFORMED), "what came in", "x" * 200]
    )
    (handed_on,) = [row for row in kept if row["malformed"] == "what came in"]
    assert [handed_on[f"t{stamp}"] for stamp in range(5)] == [None, 1, 2, 3, 4]


def test_a_batch_that_was_cut_short_by_a_kill_is_there_once(warehouse: Warehouse) -> None:
    send_events(warehouse, 0, 200)
    slow = replace(warehouse, planted_delay_ms=60_000, planted_at="commit")
    with running(slow) as spark:
        deadline = time.monotonic() + START_S
        while not [*warehouse.folder.glob("warehouse/logs/batch_id=0/part-*.parquet")]:
            assert spark.process.poll() is None, spark.complaints.read_text()[-4000:]
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(random.uniform(0, 1))  # noqa: S311 (any moment: the metastore may know of it, or not yet)
        spark.process.kill()
        killed_at_ms = time.time() * 1000
        spark.process.wait()
    assert read_batches(GrowingFile(warehouse.batches_file)) == {}

    send_events(warehouse, 200, 300)
    with running(warehouse) as spark:
        spark.rows(300)
        assert spark.stop() == 300
    rows = table(warehouse)
    require_each_once(rows, 300)
    assert {row["t6"] > killed_at_ms for row in rows} == {True}


def test_a_delay_before_a_batch_is_none_of_the_batchs(warehouse: Warehouse) -> None:
    with running(replace(warehouse, planted_delay_ms=2000, planted_at="batch")) as spark:
        spark.next("ready")
        send_events(warehouse, 0, 1)
        spark.rows(1)
        assert spark.stop() == 1
    (row,) = table(warehouse)
    assert row["t6"] - row["t5"] >= 2000


def test_a_missing_topic_is_reported_in_one_line(warehouse: Warehouse) -> None:
    with running(replace(warehouse, topic="missing")) as spark:
        assert spark.process.wait(START_S) == 1
    last = spark.complaints.read_text().splitlines()[-1]
    assert last.startswith("error: ")
    assert "missing" in last or "topic" in last.lower()
