"""The watch for missing replicas, by the brokers' successive answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_pareto.drivers.services.fault import Fault, SyncWatch
from kafka_pareto.drivers.services.programs.messages import TOPICS
from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.cluster import PartitionHealth, TopicHealth
from kafka_pareto.study.faults import FaultTimes

pytestmark = pytest.mark.fast

WHOLE, MISSING, SILENT = 2, 1, 0


def saying(*in_sync: int) -> Callable[[str, float], TopicHealth]:
    """Answer each question with the next number of in-sync replicas of two; the last one repeats."""

    def numbers() -> Iterator[int]:
        yield from in_sync
        while True:
            yield in_sync[-1]

    answers = numbers()

    def topic_health(topic: str, timeout_s: float) -> TopicHealth:
        assert 0 < timeout_s <= 2
        if not (number := next(answers)):
            raise ClusterError("no answer")
        partition = PartitionHealth(partition=0, leader_id=1, replicas=2, in_sync_replicas=number)
        return TopicHealth(topic=topic, partitions=(partition,), min_insync_replicas=1)

    return topic_health


def watched(*in_sync: int, is_single: bool = False) -> SyncWatch:
    watch = SyncWatch(saying(*in_sync), is_single=is_single)
    watch.watch_until(time.time() + 0.05)
    return watch


@pytest.mark.slow
def test_a_loss_is_noticed_while_the_fault_lasts_or_after_it() -> None:
    assert watched(MISSING).is_noticed
    watch = watched(WHOLE, WHOLE, MISSING, WHOLE)
    assert not watch.is_noticed

    began_at = time.time()
    whole_at = watch.whole_at()
    assert whole_at is not None
    assert whole_at >= began_at + 0.2
    assert watch.is_noticed


def test_a_fault_that_is_over_before_it_is_noticed_is_not_noticed() -> None:
    watch = watched(WHOLE)

    assert watch.whole_at() is not None
    assert not watch.is_noticed


def test_who_does_not_answer_may_be_the_broker_that_is_gone() -> None:
    watch = watched(SILENT, WHOLE)
    assert watch.whole_at() is not None
    assert not watch.is_noticed

    assert watched(SILENT, is_single=True).is_noticed


@pytest.mark.slow
def test_replicas_that_stay_out_of_sync_never_recover() -> None:
    assert watched(*[WHOLE] * len(TOPICS), MISSING).whole_at(within_s=0.3) is None


def test_time_is_kept_whatever_is_seen() -> None:
    for in_sync in (WHOLE, MISSING, SILENT):
        began_at = time.time()
        watched(in_sync)
        assert 0.05 <= time.time() - began_at < 1.0


def test_no_broker_is_lost_while_another_replica_is_out_of_sync() -> None:
    looks = saying(MISSING)
    opened = SimpleNamespace(
        cluster=SimpleNamespace(topic_health=lambda topic: looks(topic, 1.0)),
        topology=SimpleNamespace(brokers=2),
        brokers=None,  # would fail if touched
    )
    with pytest.raises(ClusterError, match=r"before the fault: topic .* 1 with a replica out of sync"):
        Fault("leader_killed", FaultTimes(at_s=0.01)).make(cast(Any, opened))
