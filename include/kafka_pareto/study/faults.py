"""Names what can be broken while a load runs, and how long."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kafka_pareto.study.section import Section

BrokerFault = Literal["leader_killed", "broker_stopped"]
BROKER_FAULTS: tuple[BrokerFault, ...] = ("leader_killed", "broker_stopped")
NO_FAULT = "none"
PARTITIONS_ADDED = "partitions_added"
NOTIFICATION_KILLED = "notification_killed"
CHANGING_THE_CLUSTER = (*BROKER_FAULTS, PARTITIONS_ADDED)
"""Leave leaders, warmth or partitions otherwise than they were."""


class FaultTimes(Section):
    """Says when a fault begins, counted from a load's start, and how long it lasts.

    A killed broker is started again after that time, and a stopped one goes on.
    """

    at_s: Annotated[float, Field(gt=0)] = 15.0
    for_s: Annotated[float, Field(gt=0)] = 20.0

    def seconds(self, faults: int) -> float:
        """Return how long it takes from a load's first record until so many faults, one after the other, are over."""
        return self.at_s + (2 * faults - 1) * self.for_s if faults else 0.0
