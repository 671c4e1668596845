"""The manufacturer's stock, and the lots it makes."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_pareto.drivers.services.programs.manufacturer import Manufacturer

pytestmark = pytest.mark.fast


def order(number: int, **drugs: int) -> dict[str, Any]:
    return {"order_id": f"run-{number}", "key": "h", "hospital": "h", "created_at": 1.0, "drugs": drugs}


def test_missing_items_are_made_in_lots_and_a_repeat_is_ignored() -> None:
    manufacturer = Manufacturer()
    made, stock, confirmation = (each.record for each in manufacturer.handle("", order(0, insulin=3), 2.0))

    assert (made["made"], made["drugs"], stock["stock"]) == (1000, {"insulin": 3}, {"insulin": 997})
    assert (confirmation["hospital"], confirmation["placed_at"]) == ("h", 2.0)
    assert list(manufacturer.handle("", order(0, insulin=3), 3.0)) == []

    made, stock, _ = (each.record for each in manufacturer.handle("", order(1, insulin=997, ibuprofen=2500), 3.0))
    assert (made["made"], stock["stock"]) == (3000, {"insulin": 0, "ibuprofen": 500})


def test_an_order_of_very_much_takes_no_longer_than_another() -> None:
    made, *_ = (each.record for each in Manufacturer().handle("", order(0, insulin=10**11 + 1), 2.0))

    assert made["made"] == 10**11 + 1000
