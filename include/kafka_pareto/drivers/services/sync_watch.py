"""Watches whether every replica of the orders' topics is in sync while a fault lasts, and afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from kafka_pareto.drivers.services.programs.messages import ORDER_PLACED, TOPICS
from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.cluster import TopicHealth

_WHOLE_WITHIN_S = 120.0
_NOTICED_EVERY_S = 1.0
_LOOK_S = 0.25
_ANSWERS_WITHIN_S = 2.0


class SyncWatch:
    """Asks a cluster for its replicas, and remembers whether it was ever seen without one of them.

    A broker that is killed counts as in sync until its session is over: nine seconds by default.

    Args:
        topic_health: Returns a topic's health within so many seconds.
        is_single: Says that there is one broker only: where it does not answer, it is gone.

    Attributes:
        is_noticed: True once a replica or a leader was missing.
    """

    def __init__(self, topic_health: Callable[[str, float], TopicHealth], *, is_single: bool) -> None:
        self.is_noticed = False
        self._topic_health = topic_health
        self._is_single = is_single

    def watch_until(self, until: float) -> None:
        """Returns at this time, in seconds since 1970; looks once a second until something is missing."""
        while (left_s := until - time.time()) > 0:
            if not self.is_noticed:
                # One topic is enough: the broker leads one of its partitions. Each look is a load, too.
                self._is_whole((ORDER_PLACED,), min(left_s, _ANSWERS_WITHIN_S))
            time.sleep(min(_NOTICED_EVERY_S, max(until - time.time(), 0.0)))

    def whole_at(self, within_s: float = _WHOLE_WITHIN_S) -> float | None:
        """Waits until every replica is in sync, and returns when that was; None where it was not in time."""
        deadline = time.time() + within_s
        while time.time() < deadline:
            if self._is_whole(TOPICS, _ANSWERS_WITHIN_S):
                return time.time()
            time.sleep(_LOOK_S)
        return None

    def _is_whole(self, topics: Iterable[str], within_s: float) -> bool:
        try:
            is_whole = all(self._topic_health(topic, within_s).is_healthy for topic in topics)
        except ClusterError:
            # Of several brokers the one that was asked may be gone while the others still count on it.
            is_whole, is_missing = False, self._is_single
        else:
            is_missing = not is_whole
        self.is_noticed = self.is_noticed or is_missing
        return is_whole
