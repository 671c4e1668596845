"""Count a load's records by the growth of its topic's end offsets, late records included."""

from __future__ import annotations

import time

from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.cluster import Cluster

_GROWTH_DEADLINE_S = 15.0
_SETTLING_DEADLINE_S = 60.0
_LATE_WATCH_S = 0.1


class EndOffsets:
    """The end offsets of one topic over a sequence of loads."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self._cluster = cluster
        self._topic = topic
        self._before = 0
        # End offset after the last load; None if unknown, as after an interrupted load whose records may still arrive.
        # It starts at 0: an empty topic needs no wait for records of an earlier process.
        self._complete_at: int | None = 0

    def begin(self) -> int:
        """Mark the start of the next load once the topic has settled; return the number of late records.

        Late records are those beyond what the last load had sent; on the first call, all records already there.

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
        """Return the topic's growth in records since `begin`; wait up to a deadline for as many as were sent."""
        growth = self._cluster.wait_for_end_offset_growth(self._topic, self._before, records_sent, _GROWTH_DEADLINE_S)
        self._complete_at = self._before + records_sent if growth == records_sent else None
        return growth

    def late_records(self) -> int:
        """Return the late records after the last load, when no further `begin` follows."""
        if self._complete_at is None:
            return 0
        return self._cluster.wait_for_end_offset_growth(self._topic, self._complete_at, 1, _LATE_WATCH_S)

    def _settled(self, current: int) -> int:
        deadline = time.monotonic() + _SETTLING_DEADLINE_S
        while time.monotonic() < deadline:
            # Wait for one more record: the topic has settled if the deadline passes without growth.
            growth = self._cluster.wait_for_end_offset_growth(self._topic, current, 1, deadline_s=1.0)
            if not growth:
                return current
            current += growth
        raise ClusterError(f"topic {self._topic}: records keep arriving without a load; stop other producers")
