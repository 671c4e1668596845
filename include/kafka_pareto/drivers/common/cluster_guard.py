"""Protect the cluster: no load while it is unhealthy, and a stop if the campaign does harm or cannot measure.

Transient trouble is a ClusterError: the campaign waits and repeats the block. Permanent trouble is a SafetyStop.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from kafka_pareto.drivers.common.all_topics_watch import AllTopicsWatch
from kafka_pareto.drivers.common.load_tool import LoadResult
from kafka_pareto.errors import ClusterError, PlanError, SafetyStop
from kafka_pareto.kafka.cluster import Cluster, TopicHealth
from kafka_pareto.measurement.driver_runtime import Attempt
from kafka_pareto.measurement.limits import LIMITS, MeasuringLimits
from kafka_pareto.study.topic_study import TopicStudy

log = logging.getLogger(__name__)

# Without a pause between two repetitions, the check after the first also serves the second.
_FRESH_S = 1.0
# Between polls, doubling: a new topic is known to every broker in a moment, a cluster in trouble is not to be pressed.
_FIRST_POLL_S, _LAST_POLL_S = 0.2, 1.0
# A slower answer is trouble too; the load continues meanwhile.
_WATCH_TIMEOUT_S = 5.0
_GIB = 1 << 30
_MIB = 1 << 20
_REFUSAL = re.compile(r"(Authorization|Authentication)Exception")


class ClusterGuard:
    """Watch a cluster, and the topic of a load, before, during and after each load."""

    def __init__(
        self, study: TopicStudy, cluster: Cluster, topic: str, sent_bytes: int = 0, limits: MeasuringLimits = LIMITS
    ) -> None:
        self._foreign = study.cluster
        self._replication_factor = study.workload.replication_factor
        self._cluster, self._topic = cluster, topic
        self._sent_bytes = sent_bytes
        self._recovery_deadline_s = limits.recovery_deadline_s
        self._seen_healthy: tuple[float, TopicHealth] | None = None
        self._begun: TopicHealth | None = None
        self._others = None if study.cluster is None else AllTopicsWatch(cluster)

    def allow(self, load_bytes: int) -> None:
        """Count the load toward the ceiling of a foreign cluster.

        Raises:
            PlanError: If the campaign would exceed it, pilots and repeated attempts included. The loads of an
                unfinished sizing, and an unstored last load of a killed task, are not counted.
        """
        self.count(load_bytes)
        if self._foreign is not None and self._sent_bytes > self._foreign.ceiling_gib * _GIB:
            raise PlanError(
                f"the campaign would exceed its ceiling of {self._foreign.ceiling_gib:g} GiB. Its measurements are "
                "kept; start a new campaign with a higher ceiling or fewer repetitions"
            )

    def count(self, further_bytes: int) -> None:
        """Count bytes a load sent beyond its allowance: a JVM's first load has a longer warm-up."""
        self._sent_bytes += max(further_bytes, 0)

    def wait_until_healthy(self, bytes_to_write: int = 0) -> None:
        """Wait for an unhealthy cluster to recover; log each new reason once.

        Args:
            bytes_to_write: About to be sent; every log directory must have room for all replicas.

        Raises:
            ClusterError: If it does not recover in time.
            SafetyStop: If this user lacks the rights to check.
        """
        deadline, logged, poll_s = time.monotonic() + self._recovery_deadline_s, "", _FIRST_POLL_S
        while True:
            try:
                self.require_healthy()
                self.require_log_dirs(bytes_to_write)
                break
            except ClusterError as error:
                if time.monotonic() >= deadline:
                    raise
                if str(error) != logged:
                    logged = str(error)
                    log.warning("waiting up to %.0f s: %s", self._recovery_deadline_s, logged)
            time.sleep(poll_s)
            poll_s = min(2 * poll_s, _LAST_POLL_S)
        if logged:
            log.info("the cluster has recovered")

    def require_healthy(self) -> TopicHealth:
        """Return the topic's current health; on a foreign cluster, check all topics too.

        Raises:
            ClusterError: If the topic is unhealthy, or the cluster does not answer.
            SafetyStop: If this user lacks the rights to check.
        """
        if self._seen_healthy and time.monotonic() - self._seen_healthy[0] < _FRESH_S:
            return self._seen_healthy[1]
        self._seen_healthy = None
        with _refusals_stop():
            health = self._cluster.topic_health(self._topic)
            self._require_no_trouble(health, "the cluster is unhealthy")
        self._seen_healthy = time.monotonic(), health
        return health

    def forget_topic(self) -> None:
        """Forget the topic's health: it was replaced."""
        self._seen_healthy = None

    def begin(self) -> None:
        """Check the topic just before a load.

        Raises:
            ClusterError: If the topic is unhealthy, or the cluster does not answer.
            SafetyStop: If this user lacks the rights to check.
        """
        self._begun = self.require_healthy()

    def begun(self) -> TopicHealth:
        """Return the health seen by `begin`, which must be called first."""
        health, self._begun = self._begun, None
        if health is None:
            raise RuntimeError("call begin() before attempt()")
        return health

    def _require_no_trouble(self, health: TopicHealth, words: str) -> None:
        """Check the health of the topic and, on a foreign cluster, the topics of other users."""
        trouble = "" if health.is_healthy else health.reason
        if not trouble and self._others is not None:
            trouble = self._others.trouble()
        if trouble:
            raise ClusterError(f"{words}: {trouble}")

    def require_log_dirs(self, bytes_to_write: int = 0) -> None:
        """Require every log directory to be online, with room for the next loads.

        All replicas may share one volume, as in the embedded stack.

        Raises:
            ClusterError: Naming the directory and its broker.
            SafetyStop: If this user lacks the rights to check.
        """
        needed_bytes = bytes_to_write * self._replication_factor
        with _refusals_stop():
            log_dirs = self._cluster.log_dirs(self._topic)
        for found in log_dirs:
            place = f"log directory {found.path} of broker {found.broker_id}"
            if found.error:
                raise ClusterError(f"the cluster is unhealthy: {place} is offline: {found.error}")
            if found.usable_bytes is not None and found.usable_bytes < needed_bytes:
                raise ClusterError(
                    f"the cluster is unhealthy: {place} is nearly full: {found.usable_bytes / _MIB:,.1f} MiB are "
                    f"free, but up to {needed_bytes / _MIB:,.1f} MiB may be written before the next deletion"
                )

    def watch(self) -> Callable[[], None] | None:
        """Return the check that the load tool runs every second; None for the stack's cluster, to save CPU."""
        if self._foreign is None:
            return None

        def stop_when_harmed() -> None:
            with self.loading():
                health = self._cluster.topic_health(self._topic, _WATCH_TIMEOUT_S)
                self._require_no_trouble(health, "the load was stopped")

        return stop_when_harmed

    @contextmanager
    def loading(self) -> Iterator[None]:
        """While the context is open, errors of a foreign cluster become SafetyStop.

        Raises:
            SafetyStop: In place of a ClusterError, if the load may be the cause or a right is missing.
        """
        with _refusals_stop():
            try:
                yield
            except ClusterError as error:
                if self._foreign is None:
                    raise
                raise SafetyStop(f"the campaign was stopped because its load may be the cause: {error}") from error

    def disturbance(self, before: TopicHealth) -> str:
        """Describe a disturbance of the topic during a load that is over by now; empty if there was none.

        Raises:
            ClusterError: If the cluster is unhealthy now.
            SafetyStop: If this user lacks the rights to check.
        """
        self._seen_healthy = None
        after = self.require_healthy()
        return "" if after.leaders == before.leaders else "a partition changed its leader during the repetition"

    def judged(self, attempt: Attempt, before: TopicHealth) -> Attempt:
        """Check the cluster after an attempt: trouble fails the attempt, a past disturbance excuses it."""
        try:
            disturbance = self.disturbance(before)
        except (ClusterError, SafetyStop) as error:
            return replace(attempt, outcome="failed", reason=str(error), trouble=error, upsets=True)
        if disturbance and attempt.outcome in ("valid", "failed"):
            attempt = replace(attempt, outcome="failed", reason=attempt.reason or disturbance, is_excused=True)
        return replace(attempt, upsets=bool(disturbance))

    def check_throttling(self, result: LoadResult) -> None:
        """Stop if a quota throttled the load: the result would describe the quota, not the configuration.

        Raises:
            SafetyStop: If the cluster throttled.
        """
        throttle_ms = result.client.produce_throttle_max_ms
        if throttle_ms is not None and throttle_ms > 0:
            raise SafetyStop(
                f"a quota of the cluster throttled the load by up to {throttle_ms:.0f} ms, so the campaign was "
                "stopped; have the quota raised, or lower the ceiling or the study's throughput limit"
            )

    def check_authorisation(self, complaint: str) -> None:
        """Stop if the load tool was denied access: every further load would be, too.

        Raises:
            SafetyStop: If the tool's complaint is about rights or credentials.
        """
        if _REFUSAL.search(complaint):
            raise SafetyStop(
                f"the cluster denied access, so the campaign was stopped: {complaint}; this user needs valid "
                f"credentials and Write on topic {self._topic}"
            )


@contextmanager
def _refusals_stop() -> Iterator[None]:
    """Turn denied access into a SafetyStop: a retry would be denied again."""
    try:
        yield
    except ClusterError as error:
        if _REFUSAL.search(error.kafka_error):
            raise SafetyStop(f"the campaign was stopped: {error}") from error
        raise
