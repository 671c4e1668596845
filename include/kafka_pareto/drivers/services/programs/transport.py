"""The transport, which picks up what was made, and delivers it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from kafka_pareto.drivers.services.programs.messages import (
    DELIVERED,
    DRUG_MANUFACTURED,
    PICKED_UP,
    SHIPMENT_STATUS,
    Record,
    handed_on,
)
from kafka_pareto.drivers.services.programs.sender import Outgoing
from kafka_pareto.drivers.services.programs.service import Handler, Service, options_of, serve


class Transport(Handler):
    """Report each shipment's pickup and delivery; travel takes no time."""

    reads: ClassVar = (DRUG_MANUFACTURED,)
    hands_on: ClassVar = True

    def __init__(self) -> None:
        self._handled: set[str] = set()

    def handle(self, topic: str, record: Record, appended_at: float) -> Iterable[Outgoing]:  # noqa: ARG002
        """Return both states of the shipment; nothing for a duplicate."""
        order_id = record["order_id"]
        if order_id in self._handled:
            return
        self._handled.add(order_id)
        of_order = handed_on(record) | {"manufactured_at": appended_at}
        for status in (PICKED_UP, DELIVERED):
            yield Outgoing(SHIPMENT_STATUS, of_order | {"status": status})

    def forget(self, order_ids: Iterable[str]) -> None:
        """Forget that these orders were handled."""
        self._handled.difference_update(order_ids)


if __name__ == "__main__":
    serve(Service("transport", Transport(), options_of("transport").parse_args()))
