"""Inject faults into the study's own brokers, immediately or during a load."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.cluster import TopicHealth
from kafka_pareto.study.faults import BrokerFault, FaultTimes

log = logging.getLogger(__name__)


@contextmanager
def broken(brokers: Brokers, fault: BrokerFault, health: TopicHealth) -> Iterator[str]:
    """Kill or stop a broker that leads a partition of a topic; yield its name, and restart or resume it on leaving.

    Raises:
        ClusterError: If no broker leads a partition, or on leaving if the broker cannot be started.
    """
    leading = [node for node in brokers.nodes.values() if node.number in health.leaders]
    if not leading:
        raise ClusterError(f"no broker leads a partition of topic {health.topic}")
    # Prefer a broker whose loss keeps the controller quorum.
    controllers = sum(node.is_controller for node in brokers.nodes.values())
    name = max(leading, key=lambda node: (controllers > 1 or not node.is_controller, node.number)).name
    log.info("%s: %s", fault, name)
    if fault == "leader_killed":
        brokers.kill(name)
        repair = brokers.start
    else:
        brokers.pause(name)
        repair = brokers.resume
    try:
        yield name
    finally:
        repair(name)
        log.info("%s: %s is running again", fault, name)


@contextmanager
def faults_meanwhile(
    brokers: Brokers | None, faults: Sequence[BrokerFault], times: FaultTimes, look: Callable[[], TopicHealth]
) -> Iterator[None]:
    """Inject the faults in order while the context is open; on leaving, every broker runs.

    Faults due after the end of the load are skipped.

    Args:
        brokers: The study's own.
        faults: Without any, the context does nothing.
        times: Delay of the first fault from here, duration of each, and the pause between two.
        look: Returns the health of the loaded topic, whose leader is the victim.

    Raises:
        ClusterError: If a fault cannot be injected or a broker cannot be restarted.
    """
    if not faults:
        yield
        return
    if brokers is None:
        raise RuntimeError("faults are injected only into the study's own brokers")
    ended = Event()

    def make() -> None:
        wait_s = times.at_s
        for fault in faults:
            if ended.wait(wait_s):
                return
            with broken(brokers, fault, look()):
                ended.wait(times.for_s)
            wait_s = times.for_s

    with ThreadPoolExecutor(1, "faults") as pool:
        made = pool.submit(make)
        try:
            yield
        finally:
            ended.set()
        made.result()
