"""Outcomes of an ingestion, and kcat's names of properties."""

from __future__ import annotations

import pytest

from kafka_pareto.drivers.ingestion.attempt import judge
from kafka_pareto.drivers.ingestion.output import RowsFound
from kafka_pareto.drivers.ingestion.sent import Sent, kcat_properties

pytestmark = pytest.mark.fast

IN_FILE = RowsFound(rows=100, hash="a" * 32, malformed=2)
OTHERS = RowsFound(rows=100, hash="b" * 32)
SENT = Sent(102, 100, 2, "", None, 1.0)


def test_rows_that_are_all_there_count() -> None:
    assert judge(SENT, 100, RowsFound(rows=100, hash="a" * 32), IN_FILE) == ("valid", "")


@pytest.mark.parametrize(
    ("sent", "growth", "read_back", "outcome", "reason"),
    [
        (Sent(102, 90, 2, "TimeoutException: no", None, 1.0), 90, None, "failed", "TimeoutException: no"),
        (Sent(90, 88, 2, "", None, 1.0), 88, None, "failed", "90 of the file's 102 rows were read"),
        (SENT, 97, None, "records_lost", "3 of 100 rows are not in the topic"),
        (SENT, 104, None, "records_duplicated", "4 records more than were sent"),
        (SENT, 100, OTHERS, "failed", "differ from the file's rows"),
    ],
)
def test_anything_else_does_not(
    sent: Sent, growth: int, read_back: RowsFound | None, outcome: str, reason: str
) -> None:
    judged = judge(sent, growth, read_back, IN_FILE)

    assert judged[0] == outcome
    assert reason in judged[1]


def test_kcat_gets_the_producers_settings_under_its_own_names() -> None:
    found = kcat_properties({"batch.size": 524288, "compression.type": "lz4", "acks": 1, "enable.idempotence": False})

    assert found["compression.codec"] == "lz4"
    assert found["batch.size"] == "524288"
    assert found["enable.idempotence"] == "false"
    assert found["linger.ms"] == "5"
    assert found["queue.buffering.max.kbytes"] == "32768"
    assert found["message.max.bytes"] == "1048576"
    assert kcat_properties({"max.request.size": 4194304})["message.max.bytes"] == "4194304"
    assert kcat_properties({"max.request.size": 1})["message.max.bytes"] == "1000", "the least that librdkafka accepts"
