"""Breaks brokers of one's own on purpose, and mends them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.cluster import TopicHealth
from kafka_pareto.study.faults import BrokerFault

log = logging.getLogger(__name__)


@contextmanager
def broken(brokers: Brokers, fault: BrokerFault, health: TopicHealth) -> Iterator[str]:
    """Opens a context in which a broker that leads a partition of a topic is killed, or stopped; names it.

    A killed broker is started again on leaving, and has its data; a stopped one goes on where it stood.

    Raises:
        ClusterError: If no broker leads a partition, or on leaving if the broker cannot be started.
    """
    name = broker_to_lose(brokers, health)
    log.info("%s: %s", fault, name)
    if fault == "leader_killed":
        brokers.kill(name)
        mend = brokers.start
    else:
        brokers.pause(name)
        mend = brokers.resume
    try:
        yield name
    finally:
        mend(name)
        log.info("%s: %s is back", fault, name)


def broker_to_lose(brokers: Brokers, health: TopicHealth) -> str:
    """Returns a broker that leads a partition; one without which no controller is left only where there is no other.

    Raises:
        ClusterError: If none does.
    """
    leading = [node for node in brokers.nodes.values() if node.number in health.leaders]
    controllers = sum(node.is_controller for node in brokers.nodes.values())
    if not leading:
        raise ClusterError(f"no broker leads a partition of topic {health.topic}")
    return max(leading, key=lambda node: (controllers > 1 or not node.is_controller, node.number)).name
