"""The guard of the cluster: no load on one in trouble, a stop where going on would harm it or measure nothing.

Trouble that may pass is a ClusterError: the campaign waits and measures the block again. Trouble that waiting does not
mend is a SafetyStop.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

from tenacity import RetryCallState, retry, retry_if_exception_type, stop_after_delay, wait_fixed

from kafka_pareto.drivers.common.all_topics_watch import AllTopicsWatch
from kafka_pareto.drivers.common.load_tool import LoadResult
from kafka_pareto.errors import ClusterError, PlanError, SafetyStop
from kafka_pareto.kafka.cluster import Cluster, TopicHealth
from kafka_pareto.measurement.driver_runtime import Attempt
from kafka_pareto.measurement.limits import LIMITS, MeasuringLimits
from kafka_pareto.study.topic_study import TopicStudy

log = logging.getLogger(__name__)

# Between two repetitions without a pause, the look after the first serves as the look before the second.
_FRESH_S = 1.0
# A cluster that takes longer to answer is in trouble, too, and the load goes on while it is asked.
_WATCH_TIMEOUT_S = 5.0
_GIB = 1 << 30
_MIB = 1 << 20
_REFUSAL = re.compile(r"(Authorization|Authentication)Exception")


class TopicTestbed(Protocol):
    """Names the cluster and the topic that are watched."""

    @property
    def cluster(self) -> Cluster:
        """Returns the cluster."""

    @property
    def topic(self) -> str:
        """Returns the topic's name."""


class ClusterGuard:
    """Watches one testbed's cluster before, during and after each load."""

    def __init__(
        self, study: TopicStudy, testbed: TopicTestbed, sent_bytes: int = 0, limits: MeasuringLimits = LIMITS
    ) -> None:
        self._foreign = study.cluster
        self._replication_factor = study.workload.replication_factor
        self._testbed = testbed
        self._sent_bytes = sent_bytes
        self._recovery_deadline_s = limits.recovery_deadline_s
        self._seen_healthy: tuple[float, TopicHealth] | None = None
        self._begun: TopicHealth | None = None
        self._others = None if study.cluster is None else AllTopicsWatch(testbed.cluster)

    def allow(self, load_bytes: int) -> None:
        """Counts the load against the ceiling of a cluster that is not ours.

        Raises:
            PlanError: If the campaign would send more than it may, pilots and repeated attempts included. What a
                killed task sent last and could not store is not known.
        """
        self.count(load_bytes)
        if self._foreign is not None and self._sent_bytes > self._foreign.ceiling_gib * _GIB:
            raise PlanError(
                f"the campaign has sent as much as it may, {self._foreign.ceiling_gib:g} GiB; what is measured is "
                "kept, and a new campaign with a higher ceiling or fewer repetitions can be started"
            )

    def count(self, further_bytes: int) -> None:
        """Counts what a load has sent beyond what it was allowed: the first of a warm JVM warms it up for longer."""
        self._sent_bytes += max(further_bytes, 0)

    def wait_until_healthy(self, bytes_to_write: int = 0) -> None:
        """Waits for a cluster in trouble to recover; each new reason is logged once.

        Args:
            bytes_to_write: What is about to be sent; every log directory must have room for all its replicas.

        Raises:
            ClusterError: With its trouble, if it does not recover in time.
            SafetyStop: If this user may not look.
        """
        logged = ""

        def log_a_new_reason(state: RetryCallState) -> None:
            nonlocal logged
            reason = str(state.outcome.exception()) if state.outcome else ""
            if reason != logged:
                log.warning("waiting up to %.0f s: %s", self._recovery_deadline_s, reason)
            logged = reason

        @retry(
            retry=retry_if_exception_type(ClusterError),
            stop=stop_after_delay(self._recovery_deadline_s),
            wait=wait_fixed(1.0),
            before_sleep=log_a_new_reason,
            reraise=True,
        )
        def look() -> None:
            self.require_healthy()
            self.require_log_dirs(bytes_to_write)

        look()
        if logged:
            log.info("the cluster has recovered")

    def require_healthy(self) -> TopicHealth:
        """The topic's health, seen just now; on a cluster that is not ours, all topics are looked at.

        Raises:
            ClusterError: If the topic is in trouble, or the cluster does not answer.
            SafetyStop: If this user may not look.
        """
        if self._seen_healthy and time.monotonic() - self._seen_healthy[0] < _FRESH_S:
            return self._seen_healthy[1]
        self._seen_healthy = None
        with _refusals_stop():
            health = self._testbed.cluster.topic_health(self._testbed.topic)
            if not health.is_healthy:
                raise ClusterError(f"the cluster is in trouble: {health.reason}")
            self._require_others_healthy("the cluster is in trouble")
        self._seen_healthy = time.monotonic(), health
        return health

    def begin(self) -> None:
        """Looks at the topic just before a load.

        Raises:
            ClusterError: If the topic is in trouble, or the cluster does not answer.
            SafetyStop: If this user may not look.
        """
        self._begun = self.require_healthy()

    def begun(self) -> TopicHealth:
        """Returns what `begin` saw; a load that it did not precede is a fault of the caller's."""
        health, self._begun = self._begun, None
        if health is None:
            raise RuntimeError("begin() comes before attempt()")
        return health

    def _require_others_healthy(self, words: str) -> None:
        """Looks at the topics of others as well, on a cluster that is not ours.

        Raises:
            ClusterError: Naming the topics in trouble.
        """
        if self._others is not None and (trouble := self._others.trouble()):
            raise ClusterError(f"{words}: {trouble}")

    def require_log_dirs(self, bytes_to_write: int = 0) -> None:
        """No log directory may be offline, or too full for what is about to be sent.

        Every replica may lie on the same volume, as in the embedded stack.

        Raises:
            ClusterError: Naming the directory and its broker.
            SafetyStop: If this user may not look.
        """
        needed_bytes = bytes_to_write * self._replication_factor
        with _refusals_stop():
            log_dirs = self._testbed.cluster.log_dirs(self._testbed.topic)
        for found in log_dirs:
            place = f"log directory {found.path} of broker {found.broker_id}"
            if found.error:
                raise ClusterError(f"the cluster is in trouble: {place} is offline: {found.error}")
            if found.usable_bytes is not None and found.usable_bytes < needed_bytes:
                raise ClusterError(
                    f"the cluster is in trouble: {place} is nearly full: {found.usable_bytes / _MIB:,.1f} MiB are free "
                    f"where {needed_bytes / _MIB:,.1f} MiB may be written before records are deleted again"
                )

    def watch(self) -> Callable[[], None] | None:
        """Returns what the load tool asks every second; only for a cluster that is not ours, since asking costs CPU."""
        if self._foreign is None:
            return None

        def stop_when_harmed() -> None:
            with self.loading():
                health = self._testbed.cluster.topic_health(self._testbed.topic, _WATCH_TIMEOUT_S)
                if not health.is_healthy:
                    raise ClusterError(f"the load was stopped: {health.reason}")
                self._require_others_healthy("the load was stopped")

        return stop_when_harmed

    @contextmanager
    def loading(self) -> Iterator[None]:
        """While the context is open, errors of a cluster that is not ours become SafetyStop.

        Raises:
            SafetyStop: In place of a ClusterError, where the load may be the cause or a right is missing.
        """
        with _refusals_stop():
            try:
                yield
            except ClusterError as error:
                if self._foreign is None:
                    raise
                raise SafetyStop(f"the campaign stops, since its load may be the cause: {error}") from error

    def disturbance(self, before: TopicHealth) -> str:
        """Says what happened to the topic during a load and has passed already; empty if nothing did.

        Raises:
            ClusterError: If the cluster is in trouble now.
            SafetyStop: If this user may not look.
        """
        self._seen_healthy = None
        after = self.require_healthy()
        return "" if after.leaders == before.leaders else "a partition changed its leader during the repetition"

    def judged(self, attempt: Attempt, before: TopicHealth) -> Attempt:
        """Returns the attempt once the cluster was looked at: trouble fails it, disturbance excuses it, both count."""
        try:
            disturbance = self.disturbance(before)
        except (ClusterError, SafetyStop) as error:
            return replace(attempt, outcome="failed", reason=str(error), trouble=error, upsets=True)
        if disturbance and attempt.outcome in ("valid", "failed"):
            attempt = replace(attempt, outcome="failed", reason=attempt.reason or disturbance, is_excused=True)
        return replace(attempt, upsets=bool(disturbance))

    def check_throttling(self, result: LoadResult) -> None:
        """Refuses to go on where a quota held the load back: the quota would be measured, not the configuration.

        Raises:
            SafetyStop: If the cluster throttled.
        """
        throttle_ms = result.client.produce_throttle_max_ms
        if throttle_ms is not None and throttle_ms > 0:
            raise SafetyStop(
                f"a quota of the cluster throttled the load by up to {throttle_ms:.0f} ms, so the campaign stops: it "
                "would measure the quota; have the quota raised, or lower the ceiling or the study's throughput limit"
            )

    def check_authorisation(self, complaint: str) -> None:
        """Refuses to go on where the load tool was refused: every further load would be, too.

        Raises:
            SafetyStop: If the tool's complaint is about rights or credentials.
        """
        if _REFUSAL.search(complaint):
            raise SafetyStop(
                f"the cluster refused the load, so the campaign stops: {complaint}; this user needs Write on the "
                f"topic {self._testbed.topic}, and valid credentials"
            )


@contextmanager
def _refusals_stop() -> Iterator[None]:
    """Within, what this user may not do ends the campaign: asking again would be refused again."""
    try:
        yield
    except ClusterError as error:
        if _REFUSAL.search(error.kafka_error):
            raise SafetyStop(f"the campaign stops: {error}") from error
        raise
