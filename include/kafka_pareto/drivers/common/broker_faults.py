"""Breaks brokers of one's own on purpose, at once or while a load runs, and starts them again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.cluster import TopicHealth
from kafka_pareto.study.faults import BrokerFault, FaultTimes

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


@contextmanager
def faults_meanwhile(
    brokers: Brokers | None, faults: Sequence[BrokerFault], times: FaultTimes, look: Callable[[], TopicHealth]
) -> Iterator[None]:
    """Opens a context in which the faults are made, one after the other; on leaving, every broker runs.

    A load that ends before a fault begins is not broken: the fault is left out.

    Args:
        brokers: The study's own.
        faults: What is broken; without any nothing is done.
        times: When the first begins, counted from here, how long each lasts, and how long it is to the next.
        look: Returns the health of the topic that is loaded: one that leads it is lost.

    Raises:
        ClusterError: If a broker cannot be broken or started again.
    """
    if not faults:
        yield
        return
    if brokers is None:
        raise RuntimeError("only brokers of the study's own are broken")
    ended, trouble = threading.Event(), list[ClusterError]()

    def make() -> None:
        wait_s = times.at_s
        try:
            for fault in faults:
                if ended.wait(wait_s):
                    return
                with broken(brokers, fault, look()):
                    ended.wait(times.for_s)
                wait_s = times.for_s
        except ClusterError as error:
            trouble.append(error)

    thread = threading.Thread(target=make, name="faults")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    if trouble:
        raise trouble[0]
