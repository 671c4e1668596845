from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.drivers.log_pipeline.warehouse import Batch, Warehouse, read_batches
from kafka_pareto.errors import ArtifactError

pytestmark = pytest.mark.fast

FIRST = '{"batch_id": 0, "rows": 10, "t6": 100, "t7": 200}\n'


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

    assert read_batches(tmp_path / "batches.jsonl") == found


@pytest.mark.parametrize("line", ["{", "[]", '{"batch_id": 1, "rows": 5, "t6": 1}'])
def test_a_damaged_line_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "batches.jsonl"
    file.write_text(f"{FIRST}{line}\n")

    with pytest.raises(ArtifactError, match=f"{file}: line 2: is not what is noted of a batch"):
        read_batches(file)
