"""The guard of the cluster: no load on one in trouble, and on one that is not ours a stop as soon as harm shows."""

from __future__ import annotations

import logging
from collections.abc import Callable

from tenacity import before_sleep_log, retry, retry_if_exception_type, stop_after_delay, wait_fixed

from kafka_pareto.cluster import TopicHealth
from kafka_pareto.errors import ClusterError, SafetyStop
from kafka_pareto.load import LoadResult
from kafka_pareto.study import Study
from kafka_pareto.testbed import Testbed

log = logging.getLogger(__name__)

_HEALTH_DEADLINE_S = 120.0
_GIB = 1 << 30


class ClusterGuard:
    """Watches one testbed's cluster before, during and after each load."""

    def __init__(self, study: Study, testbed: Testbed, sent_bytes: int = 0) -> None:
        self._foreign = study.cluster
        self._testbed = testbed
        self._sent_bytes = sent_bytes

    def allow(self, load_bytes: int) -> None:
        """Counts the load against the ceiling of a cluster that is not ours.

        Raises:
            SafetyStop: If the campaign would send more than it may, pilots and repeated attempts included.
        """
        self._sent_bytes += load_bytes
        if self._foreign is not None and self._sent_bytes > self._foreign.ceiling_gib * _GIB:
            raise SafetyStop(
                f"the campaign has sent as much as it may, {self._foreign.ceiling_gib:g} GiB; what is measured is "
                "kept, and a new campaign with a higher ceiling or fewer repetitions can be started"
            )

    def wait_until_healthy(self) -> TopicHealth:
        """Waits for a cluster in trouble to recover.

        Raises:
            ClusterError: With its trouble, if it does not in time.
        """

        @retry(
            retry=retry_if_exception_type(ClusterError),
            stop=stop_after_delay(_HEALTH_DEADLINE_S),
            wait=wait_fixed(1.0),
            before_sleep=before_sleep_log(log, logging.WARNING),
            reraise=True,
        )
        def healthy() -> TopicHealth:
            health = self._testbed.cluster.topic_health(self._testbed.topic)
            if not health.is_healthy:
                raise ClusterError(f"the cluster is in trouble: {health.reason}")
            return health

        return healthy()

    def watch(self) -> Callable[[], None] | None:
        """What the load tool is to ask every second; only for a cluster that is not ours, since asking costs CPU."""
        if self._foreign is None:
            return None

        def stop_when_harmed() -> None:
            health = self._testbed.cluster.topic_health(self._testbed.topic)
            if not health.is_healthy:
                raise SafetyStop(f"the load was stopped and the campaign with it: {health.reason}")

        return stop_when_harmed

    def disturbance(self, before: TopicHealth) -> str:
        """What happened to the cluster during a load that its configuration cannot have caused; empty if nothing did.

        Raises:
            SafetyStop: If a cluster that is not ours is in trouble now.
        """
        try:
            after = self._testbed.cluster.topic_health(self._testbed.topic)
        except ClusterError as error:
            return f"the cluster did not answer after the load: {error}"
        if not after.is_healthy:
            if self._foreign is not None:
                raise SafetyStop(f"after a load the cluster was in trouble, so the campaign stops: {after.reason}")
            return f"the cluster got into trouble during the repetition: {after.reason}"
        if after.leaders != before.leaders:
            return "a partition changed its leader during the repetition"
        return ""

    def check_throttling(self, result: LoadResult) -> None:
        """Refuses to go on where a quota held the load back.

        Raises:
            SafetyStop: If the cluster is not ours and throttled.
        """
        throttle_ms = result.client.produce_throttle_max_ms
        if self._foreign is not None and throttle_ms is not None and throttle_ms > 0:
            raise SafetyStop(
                f"a quota of the cluster throttled the load by up to {throttle_ms:.0f} ms, so the campaign stops; "
                "lower the ceiling in MiB/s, or have the quota raised"
            )
