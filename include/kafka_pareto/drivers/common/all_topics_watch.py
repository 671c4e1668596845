"""Watch the topics of other users on a shared cluster, as far as this user may describe them."""

from __future__ import annotations

import math
import time

from kafka_pareto.analysis.wording import counted
from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.cluster import Cluster

# On a large cluster the answer is megabytes long, so the checks take at most a tenth of the time.
_QUICK_S = 0.5
_PAUSE_PER_LOOK = 9
_MOST_NAMED = 3
_POLL_S = 1.0


class AllTopicsWatch:
    """Check that every topic of the cluster, whoever owns it, has a leader and all replicas in sync."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._next_look_at = -math.inf

    def trouble(self) -> str:
        """Name the unhealthy topics; empty if there are none, or if they were checked a moment ago.

        Raises:
            ClusterError: If the cluster does not answer.
        """
        began = time.monotonic()
        if began < self._next_look_at:
            return ""
        troubled = self._cluster.all_topics_health().troubled
        took_s = time.monotonic() - began
        if not troubled and took_s > _QUICK_S:
            self._next_look_at = began + took_s * (1 + _PAUSE_PER_LOOK)
        named = "; ".join(each.reason for each in troubled[:_MOST_NAMED])
        more = len(troubled) - _MOST_NAMED
        return f"{named}; and {counted(more, 'other topic')}" if more > 0 else named

    def wait_until_calm(self, within_s: float) -> None:
        """Wait for unhealthy topics to recover, so that later trouble is known to be new.

        Raises:
            ClusterError: If they do not recover in time (it names them), or if the cluster does not answer.
        """
        deadline = time.monotonic() + within_s
        while left := self.trouble():
            if time.monotonic() >= deadline:
                raise ClusterError(f"the cluster is unhealthy and did not recover within {within_s:.0f} s: {left}")
            time.sleep(_POLL_S)
