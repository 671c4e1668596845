"""The transport, which picks up the drugs made and delivers them."""

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
from kafka_pareto.drivers.services.programs.service import OrderHandler, Service, options_of, serve


class Transport(OrderHandler):
    """Report each shipment's pickup and delivery; travel takes no time."""

    reads: ClassVar = (DRUG_MANUFACTURED,)

    def records_for(self, record: Record, appended_at: float) -> Iterable[Outgoing]:
        """Return both states of the shipment."""
        of_order = handed_on(record) | {"manufactured_at": appended_at}
        for status in (PICKED_UP, DELIVERED):
            yield Outgoing(SHIPMENT_STATUS, of_order | {"status": status})


if __name__ == "__main__":
    serve(Service("transport", Transport(), options_of("transport").parse_args()))
