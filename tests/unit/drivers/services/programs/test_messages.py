"""The services' records, and the refusal of malformed ones."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_pareto.drivers.services.programs.messages import (
    DRUG_MANUFACTURED,
    INVENTORY_UPDATED,
    MONITOR_ALERTS,
    ORDER_CONFIRMATION,
    ORDER_PLACED,
    PICKED_UP,
    SHIPMENT_STATUS,
    TOPICS,
    MalformedRecordError,
    decode,
    encode,
)

pytestmark = pytest.mark.fast

ORDER: dict[str, Any] = {"order_id": "r-1", "key": "h-1", "created_at": 1.5}
PLACED = {**ORDER, "placed_at": 2.5}
RECORDS: dict[str, dict[str, Any]] = {
    ORDER_PLACED: {**ORDER, "hospital": "h-1", "drugs": {"insulin": 2}},
    ORDER_CONFIRMATION: {**PLACED, "hospital": "h-1"},
    DRUG_MANUFACTURED: {**PLACED, "drugs": {"insulin": 2}, "made": 1000},
    INVENTORY_UPDATED: {**PLACED, "stock": {"insulin": 998}},
    SHIPMENT_STATUS: {**PLACED, "manufactured_at": 3.5, "status": PICKED_UP},
    MONITOR_ALERTS: {
        "alert_id": "x", "rule": "lag_orders", "state": "raised", "value": None, "bound": 5.0, "since": 1.5,
    },
}  # fmt: skip
TEXTS = ("order_id", "key", "hospital", "status", "alert_id", "rule", "state")
NO_TEXTS: list[object] = [5, None, "\ud800", "two\nlines"]
NO_COUNTS: list[object] = ["two", None, 1.5, True, -1, {}, [], 10**400]
NO_NUMBERS: list[object] = ["1.5", True, float("nan"), float("inf"), 10**400, []]


@pytest.mark.parametrize("topic", TOPICS)
def test_a_record_comes_back_as_it_was_sent(topic: str) -> None:
    assert decode(encode(RECORDS[topic]), topic) == RECORDS[topic]


@pytest.mark.parametrize(("topic", "name"), [(topic, name) for topic in TOPICS for name in RECORDS[topic]])
def test_a_record_with_a_field_that_is_none_of_its_topic_is_refused(topic: str, name: str) -> None:
    wrong: list[object] = NO_NUMBERS
    if name in TEXTS:
        wrong = NO_TEXTS
    elif name == "made":
        wrong = NO_COUNTS
    elif name in ("drugs", "stock"):
        wrong = [[], None, 3, *({"insulin": each} for each in NO_COUNTS)]
    for value in wrong:
        with pytest.raises(MalformedRecordError, match=f"lacks a valid {name}, required in records of {topic}"):
            decode(encode({**RECORDS[topic], name: value}), topic)

    without = {key: value for key, value in RECORDS[topic].items() if key != name}
    if name != "value":
        with pytest.raises(MalformedRecordError, match=f"lacks a valid {name}"):
            decode(encode(without), topic)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "not JSON:"),
        (b"", "not JSON:"),
        (b"\xff\xfe", "not JSON:"),
        (b"[" * 100_000, "not JSON:"),
        (b"[1]", "not a JSON object"),
    ],
)
def test_an_invalid_record_is_refused_with_its_reason(value: bytes | None, reason: str) -> None:
    with pytest.raises(MalformedRecordError, match=reason):
        decode(value, ORDER_PLACED)
