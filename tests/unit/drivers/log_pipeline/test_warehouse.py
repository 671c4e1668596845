from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.drivers.log_pipeline.warehouse import Batch, Warehouse, read_batches
from kafka_pareto.errors import ArtifactError

pytestmark = pytest.mark.fast

PLACES = (Path("/hive"), Path("/venv/bin/python"), Path("/jars"), "127.0.0.1:9092", "logs")
WAREHOUSE = Warehouse(*PLACES, trigger_ms=500)
COMMAND = ["/venv/bin/python", "-m", "warehouse.to_hive", "--folder", "/hive", "--jars", "/jars"]


def test_it_loads_a_topic_by_its_trigger() -> None:
    asked = ["--bootstrap-servers", "127.0.0.1:9092", "--topic", "logs", "--trigger-ms", "500"]

    assert WAREHOUSE.argv == [*COMMAND, *asked]


def test_a_delay_may_be_planted() -> None:
    planted = Warehouse(*PLACES, planted_delay_ms=300, planted_at="commit")

    assert planted.argv[-4:] == ["--planted-delay-ms", "300", "--planted-at", "commit"]


def test_spark_listens_on_loopback_alone() -> None:
    assert WAREHOUSE.environment["SPARK_LOCAL_IP"] == "127.0.0.1"


def test_of_a_repeated_batch_the_last_line_counts(tmp_path: Path) -> None:
    file = tmp_path / "batches.jsonl"
    file.write_text(
        '{"batch_id": 0, "rows": 10, "t6": 100, "t7": 200}\n'
        '{"batch_id": 1, "rows": 5, "t6": 300, "t7": 400}\n'
        '{"batch_id": 1, "rows": 5, "t6": 900, "t7": 950}\n'
    )

    assert read_batches(file) == {0: Batch(10, 100, 200), 1: Batch(5, 900, 950)}


def test_a_line_that_is_still_written_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "batches.jsonl"
    file.write_text('{"batch_id": 0, "rows": 10, "t6": 100, "t7": 200}\n{"batch_id": 1, "ro')

    assert read_batches(file) == {0: Batch(10, 100, 200)}


def test_where_no_batch_was_committed_there_is_none(tmp_path: Path) -> None:
    assert read_batches(tmp_path / "batches.jsonl") == {}


@pytest.mark.parametrize("line", ["{", "[]", '{"batch_id": 1, "rows": 5, "t6": 1}'])
def test_a_damaged_line_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "batches.jsonl"
    file.write_text(f'{{"batch_id": 0, "rows": 1, "t6": 1, "t7": 2}}\n{line}\n')

    with pytest.raises(ArtifactError, match=f"{file}: line 2: is not what is noted of a batch"):
        read_batches(file)
