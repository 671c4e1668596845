from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

from kafka_pareto.drivers.log_pipeline.filebeat_pair import AggregatorSettings
from kafka_pareto.drivers.log_pipeline.growing_file import GrowingFile
from kafka_pareto.drivers.log_pipeline.pipeline import PartEndedError
from kafka_pareto.drivers.log_pipeline.warehouse import Batch, Warehouse, read_batches
from kafka_pareto.errors import ArtifactError
from tests.unit.drivers.log_pipeline.light_run import DEFAULTS
from tests.unit.drivers.log_pipeline.made_parts import commit, made_pipeline

pytestmark = [pytest.mark.fast, pytest.mark.slow]

NO_HEAP = "echo no heap >&2; exit 1"
FIRST = '{"batch_id": 0, "rows": 10, "t6": 100, "t7": 200}\n'
EXPORTS = 'echo "{\\"exported\\": 5}"; exit 0'


def test_logged_events_are_awaited_while_more_arrive(tmp_path: Path) -> None:
    with made_pipeline(tmp_path) as pipeline:
        batches = [3]

        def more() -> None:
            batches.append(2)
            commit(tmp_path, batches)

        commit(tmp_path, batches)

        assert pipeline.wait_until_committed(8, 10.0, more)
        assert batches == [3, 2, 2, 2]
        assert not pipeline.wait_until_committed(100, 0.0, lambda: None)


def test_idle_is_awaited_and_each_commit_is_reported(tmp_path: Path) -> None:
    with made_pipeline(tmp_path) as pipeline:
        commit(tmp_path, [3])
        told: list[float] = []
        began_s = time.monotonic()

        def on_commit() -> None:
            told.append(time.monotonic() - began_s)
            commit(tmp_path, [3, 2])

        assert pipeline.wait_until_idle(5, 20.0, on_commit)
        assert len(told) == 2
        assert time.monotonic() - began_s - told[-1] >= 2.5
        assert not pipeline.wait_until_idle(6, 0.0)


def test_the_event_hold_time_follows_from_the_settings(tmp_path: Path) -> None:
    aggregator = AggregatorSettings("127.0.0.1:1", "logs", batch_delay_ms=3000, linger_ms=500)
    for flush_min_events, batching_s in [(2048, 6.5), (1, 5.5)]:
        folder = tmp_path / str(flush_min_events)
        folder.mkdir()
        settings = {**DEFAULTS, "flush_min_events": flush_min_events}
        with made_pipeline(folder, settings=settings, aggregator=aggregator, trigger_ms=2000) as pipeline:
            assert pipeline.batching_s == batching_s


def test_a_part_that_has_ended_is_reported_while_it_is_awaited(tmp_path: Path) -> None:
    with made_pipeline(tmp_path) as pipeline:
        pipeline.kill("filebeat")

        with pytest.raises(PartEndedError, match="Filebeat has ended"):
            pipeline.wait_until_committed(1, 5.0, lambda: None)


def test_the_events_in_hive_are_returned_when_all_parts_have_ended(tmp_path: Path) -> None:
    with made_pipeline(tmp_path, at_the_end=EXPORTS) as pipeline:
        commit(tmp_path, [3, 2])
        table, committed_at = pipeline.end()

    assert len(table) == 5
    assert committed_at == {0: 2, 1: 2}


def write_partition(folder: Path, batch_id: int, ids: Sequence[str]) -> None:
    """Write the rows of a batch as Spark does."""
    partition = folder / "parts" / "warehouse" / "warehouse" / "logs" / f"batch_id={batch_id}"
    partition.mkdir(parents=True)
    stamps = dict.fromkeys((f"t{at}" for at in range(1, 7)), 5)
    pd.DataFrame({"request_id": ids, **stamps, "status": 200}).to_parquet(partition / "part-0.snappy.parquet")
    (partition / ".part-0.snappy.parquet.crc").write_bytes(b"")


def test_a_window_has_the_rows_of_the_batches_committed_in_it_while_the_parts_keep_running(tmp_path: Path) -> None:
    with made_pipeline(tmp_path) as pipeline:
        commit(tmp_path, [2, 0])
        write_partition(tmp_path, 0, ["a", "b"])
        write_partition(tmp_path, 2, ["not", "recorded"])
        rows, committed_at = pipeline.end_window()
        assert (rows.request_id.tolist(), rows.batch_id.tolist()) == (["a", "b"], [0, 0])
        assert committed_at == {0: 2, 1: 2}

        assert pipeline.committed() == 0
        assert not pipeline.is_moving(time.time() + 60)
        commit(tmp_path, [2, 0, 2, 1])
        write_partition(tmp_path, 3, ["c"])
        assert pipeline.committed() == 3
        rows, committed_at = pipeline.end_window()
        assert rows.batch_id.tolist() == [2, 2, 3]
        assert set(committed_at) == {2, 3}

        rows, committed_at = pipeline.end_window()
        assert (len(rows), len(committed_at)) == (0, 0)
        assert {*rows.columns} == {"request_id", "batch_id", *(f"t{at}" for at in range(1, 7))}
        pipeline.require_running()


@pytest.mark.parametrize(("trigger_ms", "silent_s"), [(0, 30), (60_000, 120)])
def test_before_the_first_commit_events_may_be_in_flight_as_long_as_the_settings_delay_them(
    tmp_path: Path, trigger_ms: int, silent_s: int
) -> None:
    with made_pipeline(tmp_path, trigger_ms=trigger_ms) as pipeline:
        now_s = time.time()
        assert pipeline.is_moving(now_s + silent_s - 10)
        assert not pipeline.is_moving(now_s + silent_s + 60)
        commit(tmp_path, [1])
        assert not pipeline.is_moving(now_s)


def test_a_window_without_all_rows_that_were_committed_is_a_part_that_failed(tmp_path: Path) -> None:
    with made_pipeline(tmp_path) as pipeline:
        commit(tmp_path, [2, 3])
        write_partition(tmp_path, 0, ["a", "b"])

        with pytest.raises(PartEndedError, match="Hive's table has 2 of the 5 rows"):
            pipeline.end_window()


@pytest.mark.parametrize(
    ("at_the_end", "exported", "is_done", "message"),
    [
        (NO_HEAP, 5, True, r"was not exported: Spark has ended with exit code 1: no heap"),
        (NO_HEAP, 5, False, r"was not exported: Spark has ended with exit code 1: no heap"),
        (EXPORTS, 4, True, r"Hive's table has 4 of the 5 rows"),
    ],
)
def test_a_spark_that_does_not_export_all_that_it_committed_is_a_part_that_ended(
    tmp_path: Path, at_the_end: str, exported: int, message: str, *, is_done: bool
) -> None:
    with made_pipeline(tmp_path, at_the_end=at_the_end) as pipeline:
        commit(tmp_path, [3, 2], exported=exported)

        with pytest.raises(PartEndedError, match=message):
            pipeline.end(is_done=is_done)


def test_it_loads_a_topic_by_its_trigger_on_loopback_alone_and_with_the_delay_of_a_test() -> None:
    places = (Path("/hive"), Path("/venv/bin/python"), Path("/jars"), "127.0.0.1:9092", "logs")
    warehouse = Warehouse(*places, trigger_ms=500, planted_delay_ms=300, planted_at="commit")

    assert warehouse.argv == [
        *("/venv/bin/python", "-m", "warehouse.to_hive", "--folder", "/hive", "--jars", "/jars"),
        *("--bootstrap-servers", "127.0.0.1:9092", "--topic", "logs", "--trigger-ms", "500"),
        *("--planted-delay-ms", "300", "--planted-at", "commit"),
    ]
    assert warehouse.environment["SPARK_LOCAL_IP"] == "127.0.0.1"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        (FIRST + '{"batch_id": 1, "ro', {0: Batch(10, 100, 200)}),  # a line that is still written
        (  # of a repeated batch the last line counts
            f'{FIRST}{{"batch_id": 1, "rows": 5, "t6": 3, "t7": 4}}\n{{"batch_id": 1, "rows": 5, "t6": 9, "t7": 9}}\n',
            {0: Batch(10, 100, 200), 1: Batch(5, 9, 9)},
        ),
    ],
)
def test_batches_are_read_as_spark_notes_them(tmp_path: Path, text: str, found: dict[int, Batch]) -> None:
    if text:
        (tmp_path / "batches.jsonl").write_text(text)

    assert read_batches(GrowingFile(tmp_path / "batches.jsonl")) == found


@pytest.mark.parametrize("line", ["{", "[]", '{"batch_id": 1, "rows": 5, "t6": 1}'])
def test_a_damaged_line_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "batches.jsonl"
    file.write_text(f"{FIRST}{line}\n")

    with pytest.raises(ArtifactError, match=f"{file}: line 2 after byte 0: is not a batch record"):
        read_batches(GrowingFile(file))
