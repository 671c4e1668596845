"""Defines what the services send each other: topics, and records as JSON objects."""

from __future__ import annotations

import json
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
"""Is read by no service: it takes orders that show how fast the hospital alone places them."""
PICKED_UP: Final = "picked_up"
DELIVERED: Final = "delivered"

Record = dict[str, Any]
"""Is a record's value. Times in it are in seconds since 1970."""


class MalformedRecordError(ValueError):
    """Is raised for a record that is no JSON object, or lacks what every order's record has."""


def handed_on(record: Record) -> Record:
    """Returns what every record about an order has: its id and key, and the times at which it was made and placed."""
    return {name: record.get(name) for name in ("order_id", "key", "created_at", "placed_at")}


def encode(record: Record) -> bytes:
    """Returns a record as the value of a Kafka record."""
    return json.dumps(record, separators=(",", ":")).encode()


def decode(value: bytes | None, *, of_an_order: bool = True) -> Record:
    """Returns the record that a Kafka record holds.

    Raises:
        MalformedRecordError: If it holds none.
    """
    try:
        record = json.loads(value or b"")
    except ValueError as error:
        raise MalformedRecordError(f"is no JSON: {str(error)[:80]}") from error
    if not isinstance(record, dict):
        raise MalformedRecordError("is no JSON object")
    if of_an_order and not (isinstance(record.get("order_id"), str) and isinstance(record.get("created_at"), float)):
        raise MalformedRecordError("has no order_id and created_at")
    return record
