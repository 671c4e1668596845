"""Makes a study's faults while a producer's load runs, from a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.drivers.common.broker_faults import broken
from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.cluster import TopicHealth
from kafka_pareto.study.faults import BrokerFault, FaultTimes


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
