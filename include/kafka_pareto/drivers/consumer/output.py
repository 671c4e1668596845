"""Parse the output of the project's consumers, and refuse inconsistent numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, FiniteFloat, model_validator

from kafka_pareto.drivers.common.load_tool import Amount, Count, LatencyUs, Outcomes, ToolOutput
from kafka_pareto.drivers.common.trend import LEAST_POINTS, Trend, trend_of


class PartitionRead(ToolOutput):
    """The offsets the group read from a partition: `first` to `last`, within `begin` to `end`.

    `lost` counts skipped records, `twice` duplicates. Records appended after the end offset was read count, too.
    """

    partition: Count
    begin: Count
    end: Count
    first: Count | None
    last: Count | None
    records: Count
    lost: Count
    unread: Count
    twice: Count

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if {self.first is None, self.last is None} != {self.records == 0}:
            raise ValueError("first and last offset must be present if and only if records were read")
        reached = self.begin if self.last is None else self.last + 1
        if self.records - self.twice + self.lost != reached - self.begin:
            raise ValueError(
                "the number of records read once plus records lost must equal the number of offsets reached"
            )
        if self.unread != max(self.end - reached, 0):
            raise ValueError("unread must equal the number of offsets after the last one read")
        return self


class LagSample(ToolOutput):
    """The group's lag, `at_s` after its warm-up."""

    at_s: FiniteFloat
    lag_records: Count
    lag_s: Amount


class ConsumerOutput(ToolOutput):
    """The tool's output; the last six keys are present only for a live group.

    `sent` counts what it sent, warm-up included; its latencies end with the acknowledgement.
    """

    mode: Literal["drain", "live"]
    consumers: Annotated[int, Field(gt=0)]
    failure: str | None
    rebalance_s: Amount | None
    assignments_changed: Count
    records: Count
    bytes: Count
    measured_s: Amount
    measured_records: Count
    measured_bytes: Count
    poll_wait_s: Amount
    threads_cpu_s: Amount
    client_metrics: dict[str, FiniteFloat]
    partitions: Annotated[list[PartitionRead], Field(min_length=1)]
    lag_samples: list[LagSample] | None = None
    sent: Outcomes | None = None
    waited_for_unread_s: Amount | None = None
    latency_records: Count | None = None
    latency_us: LatencyUs | None = None

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if sum(each.records for each in self.partitions) != self.records:
            raise ValueError("the partitions' record counts must add up to the records read")
        if self.measured_records > self.records or self.measured_bytes > self.bytes:
            raise ValueError("measured records and bytes must not exceed those read")
        if (self.latency_us is not None) != bool(self.latency_records):
            raise ValueError("latencies must be present if and only if records had due times")
        if any(later.at_s <= earlier.at_s for earlier, later in pairwise(self.lag_samples or [])):
            raise ValueError("the times of the lag samples must increase")
        is_whole = self.failure is None
        if is_whole and self.rebalance_s is None:
            raise ValueError("a group that read records must have been complete")
        if is_whole and self.mode == "drain" and self.records_unread:
            raise ValueError("a group without an error must have reached the end offsets")
        if is_whole and (self.sent is not None) != (self.mode == "live"):
            raise ValueError("sent records must be present if and only if the group is live")
        return self

    @property
    def records_unread(self) -> int:
        """Return the number of unread records in the topic when the tool ended."""
        return sum(each.unread for each in self.partitions)

    def first_failure(self) -> str:
        """Return the reason if the group or its producer failed, else an empty text."""
        refused = self.sent.failures if self.sent else {}
        return self.failure or next((f"{reason} ({records} records)" for reason, records in refused.items()), "")


def lag_trend(samples: Sequence[LagSample]) -> Trend | None:
    """Return the growth of the lag in records with time; None for fewer than `LEAST_POINTS` samples.

    The slope is about 0 if the group sustains the rate, else the rate minus the reading rate. If fetches wait for many
    bytes, the lag rises and falls with each fetch, and the slope over a few seconds is random.
    """
    if len(samples) < LEAST_POINTS:
        return None
    at_s, lags = np.array([(each.at_s, each.lag_records) for each in samples], dtype=float).T
    return trend_of(at_s, lags)
