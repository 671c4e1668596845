"""Makes a fault while orders run: kills or stops a broker for a while, kills a service, or adds partitions."""

from __future__ import annotations

import time
from dataclasses import dataclass

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from kafka_pareto.drivers.broker_faults import broken
from kafka_pareto.drivers.services.testbed import OpenTopology
from kafka_pareto.errors import ClusterError
from kafka_pareto.services.messages import ORDER_PLACED, TOPICS
from kafka_pareto.study.faults import BROKER_FAULTS, CHANGING_THE_CLUSTER, PARTITIONS_ADDED, FaultTimes

_IN_SYNC_WITHIN_S = 120.0
_LOOK_S = 0.25
_ANSWERS_WITHIN_S = 2.0
_ADDED_WITHIN_S = 30.0


@dataclass(frozen=True)
class FaultRecord:
    """Holds what was broken, and when, in seconds since 1970.

    Attributes:
        kind: As the setting `fault` names it.
        what: The process.
        full_isr_s: From the end of the fault until every replica was in sync; None where that was not seen in two
            minutes, and where only a service was killed.
    """

    kind: str
    what: str
    began_at: float
    ended_at: float
    full_isr_s: float | None


class Fault:
    """Makes one fault.

    Args:
        kind: As the setting `fault` names it.
        times: When it begins after the first order, and how long a broker's lasts; a service is started again at once,
            and partitions that were added stay.
    """

    def __init__(self, kind: str, times: FaultTimes) -> None:
        self._kind = kind
        self._times = times

    def make(self, opened: OpenTopology) -> FaultRecord:
        """Makes the fault, ends it, and waits until every replica is in sync.

        Raises:
            ClusterError: If a broker cannot be started again.
            LoadStartError: If a service cannot.
        """
        time.sleep(self._times.at_s)
        broker_fault = next((each for each in BROKER_FAULTS if each == self._kind), None)
        began_at = time.time()
        if broker_fault is not None:
            with broken(opened.brokers, broker_fault, opened.cluster.topic_health(ORDER_PLACED)) as what:
                time.sleep(self._times.for_s)
        elif self._kind == PARTITIONS_ADDED:
            what = _add_partitions(opened)
        else:
            what = self._kind.removesuffix("_killed")
            opened.chain.kill(what)
            opened.chain.start(what)
        ended_at = time.time()
        full_isr_s = _seconds_to_full_isr(opened, ended_at) if self._kind in CHANGING_THE_CLUSTER else None
        return FaultRecord(self._kind, what, began_at, ended_at, full_isr_s)


def _add_partitions(opened: OpenTopology) -> str:
    """Gives each topic twice its partitions.

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


def _seconds_to_full_isr(opened: OpenTopology, since: float) -> float | None:
    """Returns how long after this time every replica of the orders' topics was in sync; None where it never was."""
    deadline = time.time() + _IN_SYNC_WITHIN_S
    while time.time() < deadline:
        try:
            if all(opened.cluster.topic_health(topic, _ANSWERS_WITHIN_S).is_healthy for topic in TOPICS):
                return time.time() - since
        except ClusterError:
            pass
        time.sleep(_LOOK_S)
    return None
