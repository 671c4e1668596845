"""Faults injected during a load, and their timing."""

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
"""Faults that leave leaders, caches or partitions changed."""


class FaultTimes(Section):
    """Sets the start of the first fault, counted from the load's start, and how long each lasts.

    Then a killed broker is restarted, and a stopped one resumes.
    """

    at_s: Annotated[float, Field(gt=0)] = 15.0
    for_s: Annotated[float, Field(gt=0)] = 20.0

    def seconds(self, faults: int) -> float:
        """Return the time from a load's first record until that many successive faults are over."""
        return self.at_s + (2 * faults - 1) * self.for_s if faults else 0.0
