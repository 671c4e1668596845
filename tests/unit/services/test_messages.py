"""Reads what the services send each other, and refuses what is none."""

from __future__ import annotations

import pytest

from kafka_pareto.services.messages import MalformedRecordError, decode, encode

pytestmark = pytest.mark.fast


def test_a_record_comes_back_as_it_was_sent() -> None:
    record = {"order_id": "r-1", "created_at": 1.5, "drugs": {"insulin": 2}}

    assert decode(encode(record)) == record
    assert decode(encode({"alert_id": "x"}), of_an_order=False) == {"alert_id": "x"}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "is no JSON:"),
        (b"", "is no JSON:"),
        (b"\xff\xfe", "is no JSON:"),
        (b"[1]", "is no JSON object"),
        (b'{"order_id": 5, "created_at": 1.5}', "has no order_id and created_at"),
        (b'{"order_id": "a"}', "has no order_id and created_at"),
    ],
)
def test_what_is_no_record_is_refused_with_its_reason(value: bytes | None, reason: str) -> None:
    with pytest.raises(MalformedRecordError, match=reason):
        decode(value)
