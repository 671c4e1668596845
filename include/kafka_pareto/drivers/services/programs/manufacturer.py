"""The manufacturer, which fills orders from its stock, makes missing drugs, and confirms."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import ClassVar

from kafka_pareto.drivers.services.programs.messages import (
    DRUG_MANUFACTURED,
    INVENTORY_UPDATED,
    ORDER_CONFIRMATION,
    ORDER_PLACED,
    Record,
    handed_on,
)
from kafka_pareto.drivers.services.programs.sender import Outgoing
from kafka_pareto.drivers.services.programs.service import OrderHandler, Service, options_of, serve

_MADE_AT_ONCE = 1000


class Manufacturer(OrderHandler):
    """Keep a stock of each drug, and make a new lot of a drug that runs out."""

    reads: ClassVar = (ORDER_PLACED,)

    def __init__(self) -> None:
        super().__init__()
        self._stock: dict[str, int] = {}

    def records_for(self, record: Record, appended_at: float) -> Iterable[Outgoing]:
        """Return the drug made, the stock left, and the confirmation."""
        taken: dict[str, int] = record["drugs"]
        made = 0
        for name, quantity in taken.items():
            in_stock = self._stock.get(name, 0)
            lots = math.ceil(max(quantity - in_stock, 0) / _MADE_AT_ONCE)
            made += lots * _MADE_AT_ONCE
            self._stock[name] = in_stock + lots * _MADE_AT_ONCE - quantity
        of_order = handed_on(record) | {"placed_at": appended_at}
        yield Outgoing(DRUG_MANUFACTURED, of_order | {"drugs": taken, "made": made})
        yield Outgoing(INVENTORY_UPDATED, of_order | {"stock": {name: self._stock[name] for name in taken}})
        yield Outgoing(ORDER_CONFIRMATION, of_order | {"hospital": record["hospital"]})


if __name__ == "__main__":
    serve(Service("manufacturer", Manufacturer(), options_of("manufacturer").parse_args()))
