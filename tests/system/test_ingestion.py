"""Files of rows sent to a real broker: rows arrive once by every method, other lines in the dead-letter topic."""

from __future__ import annotations

import csv
import json
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from kafka_pareto.drivers.ingestion.file_to_send import FileToSend
from kafka_pareto.drivers.ingestion.load import IngestionRequest, most_row_bytes
from kafka_pareto.drivers.ingestion.plain_csv import plain_csv
from kafka_pareto.errors import BadInputError, ClusterError, KafkaParetoError
from kafka_pareto.kafka.java import java_environment
from tests.system.ingestion_bench import PARTITIONS, ROWS, Bench, new_name, require_equal

CSV_FILES = Path(__file__).parents[1] / "fixtures" / "csv"
pytestmark = [pytest.mark.brokers, pytest.mark.studies]

WAYS: list[dict[str, Any]] = [
    {"reader": "substring"},
    {"reader": "line"},
    {"reader": "slices"},
    {"reader": "mapped", "producers": 2},
    {"encoding": "avro"},
    {"encoding": "json"},
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

    assert sum(result.rows_acknowledged for result in results) == ROWS
    assert abs(results[0].began_at_s - results[1].began_at_s) < 0.25
    assert all(result.rows_acknowledged > ROWS // 3 for result in results)
    require_equal(bench.held(file, topic), ROWS)


@pytest.mark.parametrize("way", [{}, {"path": "batches", "is_resumable": True}], ids=["producer", "batches-resumable"])
def test_rows_of_a_warm_up_are_in_a_topic_of_their_own(bench: Bench, way: dict[str, Any]) -> None:
    file, topic, warmup_topic = bench.books(), bench.topic(), bench.topic()

    output = bench.send(file, topic, warmup_file=bench.books(5_000), warmup_topic=warmup_topic, **way)

    assert output.warmup is not None
    assert (output.warmup.rows_acknowledged, output.rows_acknowledged) == (5_000, ROWS)
    assert output.warmup.ended_at_s <= output.began_at_s
    assert bench.cluster.end_offset(warmup_topic) == 5_000
    require_equal(bench.held(file, topic), ROWS)


@pytest.mark.parametrize("path", ["producer", "batches"])
def test_rows_with_keys_are_where_any_producer_puts_these_keys_in_the_files_order(bench: Bench, path: str) -> None:
    file, topic, others = bench.books(), bench.topic(), bench.topic()
    with file.open(newline="", encoding="utf-8") as rows:
        publishers = [row["publisher"] for row in csv.DictReader(rows)]

    bench.send(file, topic, path=path, is_resumable=True, key="publisher")
    producer = Producer({"bootstrap.servers": bench.brokers.bootstrap_servers, "partitioner": "murmur2"})
    for publisher in publishers:
        producer.produce(others, b"", publisher)
    assert producer.flush(30) == 0

    keys = [[key for key, _ in partition] for partition in bench.records(topic, ROWS)]
    assert keys == [[key for key, _ in partition] for partition in bench.records(others, ROWS)]
    assert sorted(key.decode() for partition in keys for key in partition) == sorted(publishers)
    require_equal(bench.held(file, topic, key="publisher"), ROWS)
    with pytest.raises(AssertionError):
        require_equal(bench.held(file, topic, key="title"), ROWS)


def test_keys_of_several_columns_are_json_objects_and_a_column_must_exist(bench: Bench) -> None:
    file, topic = bench.books(500), new_name()
    wanted = FileToSend(file, topic, key="id, publisher", encoding="json", partitions=PARTITIONS)
    begun = bench.ingestion.begin(wanted)

    arrived = bench.ingestion.send(begun, wanted, lambda _: None, None)

    require_equal(arrived.held, 500)
    for partition in bench.records(topic, 500):
        for key, value in partition:
            assert json.loads(key) == {name: str(json.loads(value)[name]) for name in ("id", "publisher")}
    with pytest.raises(BadInputError, match=r"has no column 'isbn13' for the key; its columns: 'id', 'isbn', "):
        bench.ingestion.begin(FileToSend(file, new_name(), key="isbn13"))


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
    "utf8": b"1,\xc3(,3\n",
    "too_large": b"1," + b"x" * (1 << 20) + b",3\n",
    "quote": b'1,"two,3\n',  # the last line of the file: further up it would take what follows with it
}


@pytest.mark.parametrize("path", ["producer", "batches"])
def test_every_malformed_kind_is_dead_lettered_with_its_reason(bench: Bench, path: str) -> None:
    file, topic = bench.folder / f"malformed-{path}.csv", bench.topic()
    lines = [f"{row},title {row},{row}.5\n".encode() for row in range(200)]
    *within, last = MALFORMED.values()
    file.write_bytes(b"".join([b"id,title,price\n", *lines[:100], *within, *lines[100:], last]))

    output = bench.send(file, topic, path=path)

    assert output.failure is None
    assert output.malformed == dict.fromkeys(MALFORMED, 1)
    assert output.first_malformed.startswith("line 102: number of fields differs from the header: '1,two'")
    assert bench.cluster.end_offset(topic) == 200
    sent = file.read_bytes()
    for (headers, value), (reason, line) in zip(malformed_records(bench, topic), MALFORMED.items(), strict=True):
        offset = sent.index(line)
        number = sent[:offset].count(b"\n") + 1
        assert headers == {"line": str(number), "byte_offset": str(offset), "reason": reason}
        assert value == line.rstrip(b"\n")[: 64 << 10]


def malformed_records(bench: Bench, topic: str) -> list[tuple[dict[str, str], bytes]]:
    """Reads the headers and values of all malformed rows by Kafka's own tool."""
    count = bench.malformed(topic)
    printed = bench.kafkas(
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        *("--topic", f"{topic}.malformed", "--from-beginning", "--max-messages", str(count), "--timeout-ms", "20000"),
        *("--formatter-property", "print.headers=true"),
    )
    found = []
    for line in printed.split(b"\n")[:-1]:
        headers, _, value = line.partition(b"\t")
        found.append((dict(each.split(":") for each in headers.decode().split(",")), value))
    return found


@pytest.mark.parametrize(
    ("name", "encoding", "first", "malformed", "blank_lines"),
    [
        ("01_sep_line.csv", "bytes", "0;name 0;0.0", 0, 0),
        ("12_total_row.csv", "bytes", "0,name 0,0.0", 1, 1),
        ("22_quoted_newline.csv", "bytes", '0,"line one\nline two",0', 0, 0),
        ("24_latin1.csv", "latin_1", "0,Müller,0", 0, 0),
    ],
)
def test_files_of_other_programs_arrive_row_by_row(
    bench: Bench, name: str, encoding: str, first: str, malformed: int, blank_lines: int
) -> None:
    wanted = FileToSend(CSV_FILES / name, new_name(), encoding=encoding, partitions=1)

    arrived = bench.ingestion.send(bench.ingestion.begin(wanted), wanted, lambda _: None, None)

    require_equal(arrived.held, 200)
    assert arrived.held.file is not None
    assert (arrived.held.file.malformed, arrived.held.file.blank_lines) == (malformed, blank_lines)
    assert bench.malformed(wanted.topic) == malformed
    printed = bench.kafkas(
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        *("--topic", wanted.topic, "--from-beginning", "--max-messages", "1", "--timeout-ms", "20000"),
    )
    assert printed.decode() == f"{first}\n"


@pytest.mark.parametrize("name", ["20_utf16le_bom.csv", "23_cr_only.csv", "25_gzip.csv.gz"])
def test_a_converted_file_arrives_whole_and_is_known_again_from_another_copy(bench: Bench, name: str) -> None:
    topic = new_name()
    with plain_csv(CSV_FILES / name, "utf-8", None, bench.folder / "copies") as plain:
        wanted = FileToSend(plain.path, topic, delimiter=plain.delimiter, partitions=1, name=name)
        arrived = bench.ingestion.send(bench.ingestion.begin(wanted), wanted, lambda _: None, None)
    require_equal(arrived.held, 200)
    with (
        plain_csv(CSV_FILES / name, "utf-8", None, bench.folder / "copies") as plain,
        pytest.raises(BadInputError, match=f"already holds all rows of {name}"),
    ):
        bench.ingestion.begin(FileToSend(plain.path, topic, delimiter=plain.delimiter, name=name))


@pytest.mark.parametrize("name", ["15_comment.csv", "20_utf16le_bom.csv", "23_cr_only.csv", "25_gzip.csv.gz"])
def test_a_file_that_must_be_converted_is_refused_before_a_topic_is_made(bench: Bench, name: str) -> None:
    wanted = FileToSend(CSV_FILES / name, new_name())

    with pytest.raises(BadInputError, match=f"{name}: .*> new.csv"):
        bench.ingestion.begin(wanted)
    with pytest.raises(ClusterError, match="UnknownTopicOrPartition"):
        bench.cluster.topic_health(wanted.topic)


def test_a_forgotten_quote_counts_as_all_the_lines_that_it_swallows(bench: Bench) -> None:
    file, topic = bench.folder / "quote.csv", new_name()
    lines = [f"{row},title {row},{row}.5\n" for row in range(500)]
    lines[200] = '200,"title 200,200.5\n'
    lines[300] = '300,"title" 300,300.5\n'
    file.write_text("id,title,price\n" + "".join(lines))
    wanted = FileToSend(file, topic)

    with pytest.raises(
        BadInputError, match=r"too many malformed rows: 1 of 201 \(lines: 101\); the first: line 202: unclosed quote"
    ):
        bench.ingestion.send(bench.ingestion.begin(wanted), wanted, lambda _: None, None)


def test_rows_become_json_objects_with_the_types_of_the_first_row(bench: Bench) -> None:
    file, topic = bench.folder / "typed.csv", new_name()
    rows = ['7,"Lem, S.",12.50,,01234', '8,"two\nlines ""quoted""",0.0000001,x,+1', ",,,,", "9,Zoë,7,1,5"]
    file.write_text("\n".join([" id,title,price,,zip", *rows, "07,,,,", "1,,1e,,"]) + "\n")
    wanted = FileToSend(file, topic, encoding="json", partitions=1)

    arrived = bench.ingestion.send(bench.ingestion.begin(wanted), wanted, lambda _: None, None)

    require_equal(arrived.held, 4)
    assert arrived.output.malformed == {"type": 2}
    printed = bench.kafkas(
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        *("--topic", topic, "--from-beginning", "--max-messages", "4", "--timeout-ms", "20000"),
    ).decode()
    assert '"price":12.50' in printed
    assert '"price":0.0000001' in printed
    assert [json.loads(line) for line in printed.splitlines()] == [
        {"id": 7, "title": "Lem, S.", "price": 12.5, "column_4": None, "zip": "01234"},
        {"id": 8, "title": 'two\nlines "quoted"', "price": 1e-7, "column_4": "x", "zip": "+1"},
        {"id": None, "title": None, "price": None, "column_4": None, "zip": None},
        {"id": 9, "title": "Zoë", "price": 7, "column_4": "1", "zip": "5"},
    ]


def test_json_above_the_ceiling_is_refused_before_a_topic_is_made(bench: Bench) -> None:
    wanted = FileToSend(bench.books(500), new_name(), encoding="json", most_bytes=1000)
    with pytest.raises(BadInputError, match=r"GiB as JSON, above CEILING_GIB="):
        bench.ingestion.begin(wanted)
    with pytest.raises(ClusterError, match="UnknownTopicOrPartition"):
        bench.cluster.topic_health(wanted.topic)


@pytest.mark.parametrize("encoding", ["avro", "json"])
def test_numbers_that_are_none_are_malformed_where_they_are_parsed(bench: Bench, encoding: str) -> None:
    file, topic = bench.folder / "numbers.csv", bench.topic()
    file.write_text("id,price\n" + "".join(f"{row},{row}.5\n" for row in range(100)) + "x,1.5\n7,cheap\n,\n")

    assert bench.send(file, topic, encoding=encoding).malformed == {"type": 2}
    assert bench.send(file, bench.topic()).rows_malformed == 0


def test_too_many_malformed_rows_end_it_with_the_first_one(bench: Bench) -> None:
    file, topic = bench.folder / "bad.csv", bench.topic()
    file.write_text("id,price\n" + "".join(f"{row},1\n" for row in range(500)) + "1,2,3\n" * 50)

    output = bench.send(file, topic)

    assert output.failure is not None
    assert "too many malformed rows: 11 of 511 (lines: 11); the first: line 502" in output.failure


def test_the_tolerated_share_is_of_the_rows_of_all_producers(bench: Bench) -> None:
    file, count = bench.books_with(b"1,2\n", each=1_400, rows=60_000)

    output = bench.send(file, bench.topic(), producers=2)

    assert output.failure is None
    assert output.rows_malformed == count > 30  # above the share of what one producer reads


def test_a_ceiling_applies_to_sending_and_reading_back(bench: Bench) -> None:
    file, topic = bench.books(), bench.topic()
    least_s = file.stat().st_size / (1 << 20) - 0.2

    assert bench.send(file, topic, most_mib_s=1.0).elapsed_s > least_s
    began_s = time.monotonic()
    require_equal(bench.held(file, topic, most_mib_s=1.0), ROWS)
    assert time.monotonic() - began_s > least_s


def test_rows_larger_than_a_small_request_are_malformed_to_the_check_as_well(bench: Bench) -> None:
    small = {"max.request.size": 2000, "batch.size": 1000}
    file, count = bench.books_with(b",".join([b"x" * 300] * 10) + b"\n", each=5_000)
    topic = bench.topic()

    assert bench.send(file, topic, properties=small).malformed == {"too_large": count}
    held = bench.held(file, topic, most_row_bytes=most_row_bytes(small))

    require_equal(held, ROWS)
    assert held.file is not None
    assert held.file.malformed == count


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"senders": "threads_2"}, "must be sequential, parallel_stream, fork_join_N"),
        ({"path": "batches", "senders": "parallel_stream"}, "needs --senders sequential"),
        ({"is_resumable": True, "producers": 2}, "one producer and one process"),
        ({"is_resumable": True}, "does not exist"),
        ({"path": "batches", "properties": {"request.timeout.ms": 2000}}, "was not found within 2000 ms"),
    ],
)
def test_a_mistake_is_one_line_without_a_traceback(bench: Bench, changes: dict[str, Any], rule: str) -> None:
    with pytest.raises(KafkaParetoError, match=rule) as caught:
        bench.send(bench.books(), new_name(), **changes)

    assert "Exception in thread" not in str(caught.value)
