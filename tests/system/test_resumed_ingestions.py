"""Files of rows that are interrupted by kills and refusals. The next run sends what is missing."""

from __future__ import annotations

import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Producer

from kafka_pareto.brokers.processes import tied
from kafka_pareto.drivers.ingestion.file_to_send import FileToSend
from kafka_pareto.drivers.ingestion.load import MAIN_CLASS
from kafka_pareto.errors import BadInputError, ClusterError, LeaseHeldError, LoadToolError
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from tests.system.ingestion_bench import ROWS, Bench, new_name, require_equal

pytestmark = [pytest.mark.brokers, pytest.mark.studies]

NO_ROW = b"1,two\n"
PATHS = pytest.mark.parametrize("path", ["producer", pytest.param("batches", marks=pytest.mark.long)])


@pytest.mark.parametrize(
    ("path", "key"),
    [("producer", ""), ("batches", "publisher"), pytest.param("batches", "", marks=pytest.mark.long)],
)
def test_kills_at_any_moment_lose_and_repeat_nothing(bench: Bench, path: str, key: str) -> None:
    rows = 400_000
    file, count = bench.books_with(NO_ROW, each=4_000, rows=rows)
    topic = bench.topic(6)
    killed = 0
    for moment_s in (0.9, 1.3, 1.1):
        before = bench.cluster.end_offset(topic)
        process = started(bench, file, topic, path, key)
        wait_for_growth(bench, topic, before, process)
        time.sleep(moment_s - 0.9)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            killed += 1
        process.wait()
    assert killed, "it ended before it could be killed"

    output = bench.send(file, topic, path=path, is_resumable=True, key=key)

    assert output.failure is None
    assert bench.cluster.end_offset(topic) == rows
    assert bench.malformed(topic) == count
    require_equal(bench.held(file, topic, key=key), rows)


def started(bench: Bench, file: Path, topic: str, path: str, key: str) -> subprocess.Popen[bytes]:
    """Starts an ingestion that is slow enough to be killed."""
    config = bench.folder / "producer.properties"
    config.write_text(f"bootstrap.servers={bench.brokers.bootstrap_servers}\nbatch.size=16384\n")
    options = ["--file", str(file), "--topic", topic, "--path", path, "--resumable", "--max-mib-s", "20"]
    options += ["--key", key] if key else []
    argv = [bench.brokers.settings.java, "-cp", f"{bench.brokers.settings.kafka_jars}/*", MAIN_CLASS, *options]
    return subprocess.Popen(
        tied([*argv, "--command-config", str(config)]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def wait_for_growth(bench: Bench, topic: str, before: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while bench.cluster.end_offset(topic) == before and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)


@PATHS
def test_malformed_rows_that_were_refused_are_sent_by_the_next_run(bench: Bench, path: str) -> None:
    file, count = bench.books_with(NO_ROW, each=4_000)
    topic = bench.topic(malformed={"max.message.bytes": "10"})

    with pytest.raises(LoadToolError, match=r"\.malformed: .*RecordTooLargeException"):
        bench.send(file, topic, path=path, is_resumable=True)
    assert bench.cluster.end_offset(topic) <= 4_000  # no row goes past a malformed one that is nowhere
    bench.set_topic(f"{topic}.malformed", "max.message.bytes=1000000")
    output = bench.send(file, topic, path=path, is_resumable=True)

    assert (output.failure, output.rows_malformed, bench.malformed(topic)) == (None, count, count)
    require_equal(bench.held(file, topic), ROWS)


@PATHS
def test_a_row_that_the_topic_refuses_leaves_no_hole_behind(bench: Bench, path: str) -> None:
    large = b",".join([b"x" * 3_000] * 10) + b"\n"
    file, count = bench.books_with(large, each=2_000)
    topic = bench.topic(rows={"max.message.bytes": "20000"})
    settings = {"batch.size": 8192}

    failure = bench.send(file, topic, path=path, is_resumable=True, properties=settings).failure
    assert failure is not None
    assert "RecordTooLarge" in failure
    assert bench.cluster.end_offset(topic) < ROWS
    bench.set_topic(topic, "max.message.bytes=1000000")
    output = bench.send(file, topic, path=path, is_resumable=True, properties=settings)

    assert output.failure is None
    require_equal(bench.held(file, topic), ROWS + count)


def test_a_users_file_resumes_where_it_was_interrupted_and_no_other_file_does(bench: Bench) -> None:
    (file, count), topic = bench.books_with(NO_ROW, each=4_000), new_name()
    wanted, said = FileToSend(file, topic), list[str]()
    ingestion = bench.ingestion

    def stop_once_rows_are_there() -> None:
        if said and bench.cluster.end_offset(topic):
            raise ClusterError("stopped by the test")

    with ingestion.alone(topic):
        begun = ingestion.begin(wanted)
        with pytest.raises(ClusterError, match="stopped by the test"):
            ingestion.send(begun, replace(wanted, most_mib_s=0.3), said.append, stop_once_rows_are_there)

    with pytest.raises(BadInputError, match="but the file, DELIMITER, ENCODING, VALUES"):
        ingestion.begin(replace(wanted, file=bench.books(500)))
    with pytest.raises(BadInputError, match="has 12 partitions; expected PARTITIONS=5"):
        ingestion.begin(replace(wanted, partitions=5))
    compared: list[tuple[int, int]] = []
    with ingestion.alone(topic):
        assert ingestion.begin(wanted, lambda read, of: compared.append((read, of))) == begun
        assert compared[-1] == (begun.bytes, begun.bytes), "a file of hours is read before its first row is sent"
        before = bench.cluster.end_offset(topic)
        assert 0 < before < ROWS
        arrived = ingestion.send(begun, wanted, said.append, None)

    assert arrived.output.rows_acknowledged == ROWS - before
    assert bench.malformed(topic) == count
    require_equal(arrived.held, ROWS)
    with pytest.raises(
        BadInputError, match=rf"already holds all rows of .*{topic} and {topic}.malformed and the file "
    ):
        ingestion.begin(wanted)


def test_a_topic_with_added_partitions_cannot_be_resumed(bench: Bench) -> None:
    wanted = FileToSend(bench.books(), new_name(), partitions=2)
    bench.ingestion.begin(wanted)
    bench.kafkas("org.apache.kafka.tools.TopicCommand", "--alter", "--topic", wanted.topic, "--partitions", "4")

    with pytest.raises(BadInputError, match=r"has 4 partitions, but had 2 when .* was begun"):
        bench.ingestion.begin(replace(wanted, partitions=None))


def test_two_runs_cannot_send_to_one_topic(bench: Bench) -> None:
    topic = new_name()

    with (
        bench.ingestion.alone(topic),
        pytest.raises(LeaseHeldError, match=f"topic {topic}: another make ingest sends to it"),
        bench.ingestion.alone(topic),
    ):
        pass
    with bench.ingestion.alone(topic), bench.ingestion.alone(new_name()):
        pass


@pytest.mark.long
def test_batches_and_rows_fit_a_topic_that_takes_little(bench: Bench) -> None:
    large = b",".join([b"x" * 3_000] * 10) + b"\n"
    file, count = bench.books_with(large, each=4_000)
    topic = bench.topic(rows={"max.message.bytes": "20000"})
    wanted = FileToSend(file, topic)

    arrived = bench.ingestion.send(bench.ingestion.begin(wanted), wanted, lambda _: None, None)

    assert arrived.output.malformed == {"too_large": count}
    require_equal(arrived.held, ROWS)


@pytest.mark.long
def test_foreign_records_in_the_dead_letter_topic_are_reported(bench: Bench) -> None:
    file, count = bench.books_with(NO_ROW, each=4_000)
    wanted = FileToSend(file, new_name())
    begun = bench.ingestion.begin(wanted)
    bench.brokers.send(begun.malformed_topic, 1, 100)  # of somebody else's: its key is none of ours

    with pytest.raises(BadInputError, match="ends with a record from another source"):
        bench.ingestion.send(begun, wanted, lambda _: None, None)
    bench.cluster.delete_topic(begun.malformed_topic)
    bench.cluster.create_topic(begun.malformed_topic, 1, 1)
    bench.ingestion.send(begun, wanted, lambda _: None, None)
    longer = bench.folder / "longer.csv"
    longer.write_bytes(file.read_bytes() + NO_ROW)
    bench.send(longer, wanted.topic, is_resumable=True)
    with pytest.raises(BadInputError, match=rf"received \d+ records?, but .* has {count} malformed rows"):
        bench.ingestion.send(begun, wanted, lambda _: None, None)


@PATHS
def test_rows_that_retention_has_removed_are_not_sent_again(bench: Bench, path: str) -> None:
    file, topic = bench.books(), bench.topic()
    bench.send(file, topic, path=path, is_resumable=True)
    bench.cluster.delete_records(topic)

    removed = r": the first \d+ records of partition \d were removed .*; use another topic"
    with pytest.raises(BadInputError, match=f"topic {topic}{removed}"):
        bench.send(file, topic, path=path, is_resumable=True)

    assert bench.cluster.end_offset(topic) == ROWS


@pytest.mark.long
def test_malformed_rows_that_retention_has_removed_are_not_sent_again(bench: Bench) -> None:
    (file, count), topic = bench.books_with(NO_ROW, each=4_000), bench.topic()
    bench.send(file, topic, is_resumable=True)
    bench.cluster.delete_records(f"{topic}.malformed")

    with pytest.raises(BadInputError, match=rf"topic {topic}.malformed: the first {count} records of partition 0 were"):
        bench.send(file, topic, is_resumable=True)

    assert bench.malformed(topic) == count


def test_a_delimiter_that_does_not_fit_leaves_nothing_behind(bench: Bench) -> None:
    topic = new_name()

    with pytest.raises(BadInputError, match="line 1: has one field with the delimiter"):
        bench.ingestion.begin(FileToSend(bench.books(), topic, delimiter=";"))
    assert bench.ingestion.begin(FileToSend(bench.books(), topic)).topic == topic


def test_topics_that_hold_something_or_have_other_partitions_are_refused(bench: Bench) -> None:
    held, left_over, many = bench.topic(), bench.topic(), new_name()
    bench.send(bench.books(500), held)
    bench.brokers.send(f"{left_over}.malformed", 3, 100)

    with pytest.raises(BadInputError, match=f"holds 500 records .*delete the topics {held} and {held}.malformed"):
        bench.ingestion.begin(FileToSend(bench.books(), held))
    with pytest.raises(BadInputError, match=f"topic {left_over}.malformed: holds 3 records"):
        bench.ingestion.begin(FileToSend(bench.books(), left_over))
    bench.cluster.create_topic(f"{many}.malformed", 2, 1)
    with pytest.raises(BadInputError, match=f"topic {many}.malformed: must have one partition, but has 2"):
        bench.ingestion.begin(FileToSend(bench.books(), many))
    with pytest.raises(BadInputError, match="has 3 partitions; expected PARTITIONS=5"):
        bench.ingestion.begin(FileToSend(bench.books(), bench.topic(), partitions=5))


def test_a_topic_with_foreign_records_cannot_be_resumed(bench: Bench) -> None:
    topic = bench.topic()
    bench.send(bench.books(500), topic)

    with pytest.raises(BadInputError, match="ends with a record from another source"):
        bench.send(bench.books(), topic, is_resumable=True)


def test_a_file_is_appended_to_records_of_others_and_another_file_to_that(bench: Bench) -> None:
    topic, file = new_name(), bench.folder / "bad_line.csv"
    file.write_text("a,b\n" + "".join(f"{row},1\n" for row in range(50)) + "1,2,3\n")
    bench.cluster.create_topic(topic, 2, 1)
    producer = Producer({"bootstrap.servers": bench.brokers.bootstrap_servers})
    for number in range(7):
        producer.produce(topic, b"another program's", partition=number % 2)
    assert producer.flush(30) == 0

    with pytest.raises(BadInputError, match=f"topic {topic}: holds 7 records .*APPEND=yes"):
        bench.ingestion.begin(FileToSend(bench.books(), topic))
    sent = 7
    for source, malformed in ((bench.books(), 0), (file, 1)):
        wanted = FileToSend(source, topic, appends=True)
        begun = bench.ingestion.begin(wanted)
        assert bench.ingestion.begin(wanted).from_offsets == begun.from_offsets, "resumed"
        assert sum(begun.from_offsets) == sent
        arrived = bench.ingestion.send(begun, wanted, lambda _: None, None)
        assert arrived.held.file is not None
        require_equal(arrived.held, arrived.held.file.rows)
        sent += arrived.held.file.rows
        assert bench.cluster.end_offset(topic) == sent
        assert bench.malformed(topic) == malformed
    for appends in (False, True):  # repeated by mistake
        with pytest.raises(BadInputError, match=f"already holds all rows of {file}; use another topic$"):
            bench.ingestion.begin(FileToSend(file, topic, appends=appends))


def test_no_row_goes_to_a_compacted_topic_that_might_delete_it_first(bench: Bench) -> None:
    topic = bench.topic()
    bench.set_topic(topic, "cleanup.policy=compact")
    with pytest.raises(
        BadInputError, match=f"topic {topic}: cleanup.policy=compact: compaction may delete rows before"
    ):
        bench.ingestion.begin(FileToSend(bench.books(500), topic, key="id"))
    with pytest.raises(BadInputError, match=f"topic {topic}: cleanup.policy=compact: keys are positions in a file"):
        bench.ingestion.begin(FileToSend(bench.books(500), topic, appends=True))


def test_a_new_topic_is_not_compacted_where_the_cluster_compacts_by_default(bench: Bench) -> None:
    topic = new_name()
    where = ("--alter", "--entity-type", "brokers", "--entity-default")
    bench.kafkas("kafka.admin.ConfigCommand", *where, "--add-config", "log.cleanup.policy=compact")
    policy = ["cleanup.policy"]
    try:
        wait_until(
            "new topics are compacted",
            lambda: bench.cluster.topic_configs(bench.topic(), policy)[policy[0]] == "compact",
            30,
        )
        bench.ingestion.begin(FileToSend(bench.books(500), topic, key="id"))
        for name in (topic, f"{topic}.malformed"):
            assert bench.cluster.topic_configs(name, policy) == {policy[0]: "delete"}
    finally:
        bench.kafkas("kafka.admin.ConfigCommand", *where, "--delete-config", "log.cleanup.policy")
