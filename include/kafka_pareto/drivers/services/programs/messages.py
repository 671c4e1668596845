"""The services' topics, and their records as JSON objects."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

ORDER_PLACED: Final = "order-placed"
ORDER_CONFIRMATION: Final = "order-confirmation"
DRUG_MANUFACTURED: Final = "drug-manufactured"
INVENTORY_UPDATED: Final = "inventory-updated"
SHIPMENT_STATUS: Final = "shipment-status"
MONITOR_ALERTS: Final = "monitor-alerts"

TOPICS: Final = (
    ORDER_PLACED,
    ORDER_CONFIRMATION,
    DRUG_MANUFACTURED,
    INVENTORY_UPDATED,
    SHIPMENT_STATUS,
    MONITOR_ALERTS,
)
PLACED_ONLY: Final = "placed-only"
"""The topic that no service reads, for measuring how fast the hospital alone places orders."""
PICKED_UP: Final = "picked_up"
DELIVERED: Final = "delivered"

_LARGEST: Final = 1e12

Record = dict[str, Any]
"""A record's value. Times are in seconds since 1970."""


class MalformedRecordError(ValueError):
    """Raised for a record that is not a JSON object, or lacks a field of its topic."""


def handed_on(record: Record) -> Record:
    """Return the fields of every record about an order: its id and key, and when it was created and placed."""
    return {name: record.get(name) for name in ("order_id", "key", "created_at", "placed_at")}


def encode(record: Record) -> bytes:
    """Return a record as the value of a Kafka record."""
    return json.dumps(record, separators=(",", ":")).encode()


def decode(value: bytes | None, topic: str) -> Record:
    """Return the record in a Kafka record of a topic.

    Raises:
        MalformedRecordError: If it is not a JSON object, or a field is missing or of the wrong type.
    """
    try:
        record = json.loads(value or b"")
    except (ValueError, RecursionError) as error:
        raise MalformedRecordError(f"not JSON: {str(error)[:80]}") from error
    if not isinstance(record, dict):
        raise MalformedRecordError("not a JSON object")
    for name, is_right in _FIELDS[topic].items():
        if not is_right(record.get(name)):
            raise MalformedRecordError(f"lacks a valid {name}, required in records of {topic}")
    return record


def _is_text(value: object) -> bool:
    # A lone surrogate cannot be sent as a key, and a line break would end an event for clients.
    return isinstance(value, str) and value.isprintable()


def _is_number(value: object) -> bool:
    # Python's JSON accepts NaN, infinity and numbers too large to compute with.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -_LARGEST < value < _LARGEST


def _is_number_or_none(value: object) -> bool:
    return value is None or _is_number(value)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST


def _are_counts(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_count, value.values()))


def _is_status(value: object) -> bool:
    return value in (PICKED_UP, DELIVERED)


_Fields = Mapping[str, Callable[[object], bool]]
_OF_AN_ORDER: _Fields = {"order_id": _is_text, "key": _is_text, "created_at": _is_number}
_OF_A_PLACED_ONE: _Fields = {**_OF_AN_ORDER, "placed_at": _is_number}
_FIELDS: Mapping[str, _Fields] = {
    ORDER_PLACED: {**_OF_AN_ORDER, "hospital": _is_text, "drugs": _are_counts},
    ORDER_CONFIRMATION: {**_OF_A_PLACED_ONE, "hospital": _is_text},
    DRUG_MANUFACTURED: {**_OF_A_PLACED_ONE, "drugs": _are_counts, "made": _is_count},
    INVENTORY_UPDATED: {**_OF_A_PLACED_ONE, "stock": _are_counts},
    SHIPMENT_STATUS: {**_OF_A_PLACED_ONE, "manufactured_at": _is_number, "status": _is_status},
    MONITOR_ALERTS: {
        "alert_id": _is_text,
        "rule": _is_text,
        "state": _is_text,
        "value": _is_number_or_none,
        "bound": _is_number,
        "since": _is_number,
    },
}
