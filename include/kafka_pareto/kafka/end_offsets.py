"""Measure a load at the topic: the growth of its end offsets, and the records that arrived afterwards."""

from __future__ import annotations

import time

from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.cluster import Cluster

_GROWTH_DEADLINE_S = 15.0
_SETTLING_DEADLINE_S = 60.0
_LATE_WATCH_S = 0.1


class EndOffsets:
    """Follow the end offsets of one topic over a sequence of loads."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self._cluster = cluster
        self._topic = topic
        self._before = 0
        # End offset after the last load; None if unknown, as after an interrupted load that may still arrive.
        # A topic that is still empty needs no wait for records of an earlier process.
        self._complete_at: int | None = 0

    def begin(self) -> int:
        """Mark where the next load begins, once nothing arrives any more.

        Returns:
            The number of late records: those that came after the last load, beyond what it had sent. The first call
            counts the records that were there before.

        Raises:
            ClusterError: If records keep arriving without a load.
        """
        expected = self._complete_at
        current = self._cluster.end_offset(self._topic)
        if current != expected:
            current = self._settled(current)
        self._before, self._complete_at = current, None
        return 0 if expected is None else current - expected

    def growth(self, records_sent: int) -> int:
        """Return the topic's growth since `begin`, in records. Waits up to a deadline for as many as were sent."""
        growth = self._cluster.wait_for_end_offset_growth(self._topic, self._before, records_sent, _GROWTH_DEADLINE_S)
        self._complete_at = self._before + records_sent if growth == records_sent else None
        return growth

    def late_records(self) -> int:
        """Return what `begin` would return a moment from now. Use it after the last load, where no other begins."""
        if self._complete_at is None:
            return 0
        return self._cluster.wait_for_end_offset_growth(self._topic, self._complete_at, 1, _LATE_WATCH_S)

    def _settled(self, current: int) -> int:
        deadline = time.monotonic() + _SETTLING_DEADLINE_S
        while time.monotonic() < deadline:
            # Waits for one record more than there is: the topic is settled once the deadline passes without growth.
            growth = self._cluster.wait_for_end_offset_growth(self._topic, current, 1, deadline_s=1.0)
            if not growth:
                return current
            current += growth
        raise ClusterError(f"records keep arriving in {self._topic} without a load; who else writes to it?")
