"""Inject a fault while orders run (lose a broker or a service, or add partitions) and watch the replicas."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from kafka_pareto.drivers.common.broker_faults import broken
from kafka_pareto.drivers.services.programs.messages import ORDER_PLACED, TOPICS
from kafka_pareto.drivers.services.testbed import OpenTopology
from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.cluster import TopicHealth
from kafka_pareto.study.faults import BROKER_FAULTS, CHANGING_THE_CLUSTER, PARTITIONS_ADDED, FaultTimes

_ADDED_WITHIN_S = 30.0
_WHOLE_WITHIN_S = 120.0
_NOTICED_EVERY_S = 1.0
_LOOK_S = 0.25
_ANSWERS_WITHIN_S = 2.0


@dataclass(frozen=True)
class FaultRecord:
    """A fault and its times, in seconds since 1970.

    Attributes:
        kind: As in the setting `fault`.
        what: The process.
        began_at: Start of the fault.
        ended_at: When the process resumed or restarted, or the change was complete.
        whole_at: When every replica was in sync again; None if not within two minutes. For a killed service, its
            restart.
        is_noticed: True if the cluster lacked a replica or a leader after a broker's fault.
    """

    kind: str
    what: str
    began_at: float
    ended_at: float
    whole_at: float | None
    is_noticed: bool

    @property
    def full_isr_s(self) -> float | None:
        """Return the time from the fault to all replicas in sync; None if no replica was missing, or one still is."""
        return self.whole_at - self.ended_at if self.is_noticed and self.whole_at is not None else None


@dataclass(frozen=True)
class Fault:
    """One fault.

    Attributes:
        kind: As in the setting `fault`.
        times: Its start after the first order, and a broker's downtime. A service restarts immediately; added
            partitions stay.
    """

    kind: str
    times: FaultTimes

    def make(self, opened: OpenTopology) -> FaultRecord:
        """Inject the fault, end it, and wait until every replica is in sync.

        Raises:
            ClusterError: If a replica is already out of sync, or a broker cannot be restarted.
            LoadStartError: If a service cannot be restarted.
        """
        time.sleep(self.times.at_s)
        broker_fault = next((each for each in BROKER_FAULTS if each == self.kind), None)
        watch = SyncWatch(opened.cluster.topic_health, is_single=opened.topology.brokers == 1)
        began_at = time.time()
        if broker_fault is not None:
            health = opened.cluster.topic_health(ORDER_PLACED)
            if health.reason:
                raise ClusterError(f"before the fault: {health.reason}")
            began_at = time.time()  # this can take long and does not belong to the fault
            with broken(opened.brokers, broker_fault, health) as what:
                watch.watch_until(began_at + self.times.for_s)
        elif self.kind == PARTITIONS_ADDED:
            what = _add_partitions(opened)
        else:
            what = self.kind.removesuffix("_killed")
            opened.chain.kill(what)
            opened.chain.start(what)
        ended_at = time.time()
        whole_at = watch.whole_at() if self.kind in CHANGING_THE_CLUSTER else ended_at
        # Added partitions briefly have no leader; whether a poll sees that is random.
        is_noticed = watch.is_noticed and broker_fault is not None
        return FaultRecord(self.kind, what, began_at, ended_at, whole_at, is_noticed)


def _add_partitions(opened: OpenTopology) -> str:
    """Double the partitions of each topic.

    Raises:
        ClusterError: If the brokers refuse.
    """
    partitions = 2 * opened.topology.partitions
    admin = AdminClient({"bootstrap.servers": opened.brokers.bootstrap_servers})
    asked = admin.create_partitions([NewPartitions(topic, partitions) for topic in TOPICS])
    for topic, answer in asked.items():
        try:
            answer.result(_ADDED_WITHIN_S)
        except (KafkaException, TimeoutError) as error:
            raise ClusterError(f"topic {topic}: partitions cannot be added: {error}") from error
    return f"partitions, from {opened.topology.partitions} to {partitions}"


class SyncWatch:
    """Poll a cluster's replicas, and record whether any was ever out of sync.

    A killed broker counts as in sync until its session expires, nine seconds by default.

    Args:
        topic_health: Returns a topic's health within the given seconds.
        is_single: True for one broker: if it does not answer, it is down.

    Attributes:
        is_noticed: True once a replica or a leader was missing.
    """

    def __init__(self, topic_health: Callable[[str, float], TopicHealth], *, is_single: bool) -> None:
        self.is_noticed = False
        self._topic_health = topic_health
        self._is_single = is_single

    def watch_until(self, until: float) -> None:
        """Return at this time, in seconds since 1970; poll once a second until something is missing."""
        while (left_s := until - time.time()) > 0:
            if not self.is_noticed:
                # One topic is enough: the broker leads one of its partitions, and each poll adds load.
                self._is_whole((ORDER_PLACED,), min(left_s, _ANSWERS_WITHIN_S))
            time.sleep(min(_NOTICED_EVERY_S, max(until - time.time(), 0.0)))

    def whole_at(self, within_s: float = _WHOLE_WITHIN_S) -> float | None:
        """Wait until every replica is in sync and return that time; None after a timeout."""
        deadline = time.time() + within_s
        while time.time() < deadline:
            if self._is_whole(TOPICS, _ANSWERS_WITHIN_S):
                return time.time()
            time.sleep(_LOOK_S)
        return None

    def _is_whole(self, topics: Iterable[str], within_s: float) -> bool:
        try:
            is_whole = all(self._topic_health(topic, within_s).is_healthy for topic in topics)
            is_missing = not is_whole
        except ClusterError:
            # The queried broker may be down while the others still list it as in sync.
            is_whole, is_missing = False, self._is_single
        self.is_noticed = self.is_noticed or is_missing
        return is_whole
