"""On an existing cluster, others' topics are watched too; those that cannot be watched are reported."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import pytest

from kafka_pareto.drivers.common.all_topics_watch import AllTopicsWatch
from kafka_pareto.drivers.common.load_tool import LoadRequest
from kafka_pareto.drivers.common.systems import ClusterSystem, missing_safeguards
from kafka_pareto.drivers.producer.runtime import ProducerRuntime
from kafka_pareto.errors import ClusterError, SafetyStop
from kafka_pareto.kafka.cluster import AllTopicsHealth, TroubledTopic
from kafka_pareto_embedded.runs.follow import message_in
from tests.fakes import FakeCluster
from tests.unit.measuring import CASE, PLANNED, foreign, measuring, started

pytestmark = [pytest.mark.fast, pytest.mark.slow]

ORDERS = TroubledTopic(topic="orders", partitions=12, leaderless=1, out_of_sync=2)
MOVED = "topic orders: of 12 partitions 1 without a leader, 2 with a replica out of sync"


def test_on_a_foreign_cluster_harm_to_a_topic_of_others_stops_the_campaign_and_is_named(tmp_path: Path) -> None:
    with measuring(tmp_path, foreign()) as m:

        def harm_others(_: LoadRequest) -> None:
            m.cluster.troubled = (ORDERS,) if len(m.tool.requests) == 5 else ()

        m.tool.before_run = harm_others
        with pytest.raises(SafetyStop, match=f"its load may be the cause: the load was stopped: {MOVED}"):
            m.measure()
    assert len(m.tool.requests) == 5


def test_no_load_goes_to_a_foreign_cluster_on_which_a_topic_of_others_is_in_trouble(tmp_path: Path) -> None:
    with measuring(tmp_path, foreign()) as m:
        m.cluster.troubled = tuple(ORDERS.model_copy(update={"topic": f"orders-{n}"}) for n in range(5))
        with pytest.raises(
            ClusterError, match=r"unhealthy: topic orders-0: .*; topic orders-2: .*; and 2 other topics"
        ):
            m.measure()
    assert m.tool.requests == []


def test_trouble_that_was_there_before_a_load_is_waited_for_and_named_if_it_stays() -> None:
    cluster = FakeCluster()
    cluster.troubled = (ORDERS,)
    with pytest.raises(ClusterError, match=f"did not recover within 0 s: {MOVED}"):
        AllTopicsWatch(cluster).wait_until_calm(within_s=0.0)

    def recovering(*_: object) -> AllTopicsHealth:
        return AllTopicsHealth(topics=1, troubled=looks.pop())

    looks = [(), (ORDERS,)]
    cluster.all_topics_health = recovering
    AllTopicsWatch(cluster).wait_until_calm(within_s=30.0)
    assert looks == []


def test_on_the_stacks_cluster_other_topics_have_no_owner(tmp_path: Path) -> None:
    with measuring(tmp_path) as m:
        m.cluster.troubled = (ORDERS,)
        m.measure()
    assert len(m.tool.requests) == PLANNED


def test_a_cluster_with_many_topics_is_asked_for_all_of_them_a_tenth_of_the_time(tmp_path: Path) -> None:
    with measuring(tmp_path, foreign()) as m:
        asked: list[int] = []
        real = m.cluster.all_topics_health

        def slow(*_: object) -> AllTopicsHealth:
            asked.append(len(m.tool.requests))
            time.sleep(0.6)
            return real()

        m.cluster.all_topics_health = slow
        began = time.monotonic()
        m.measure()
        took_s = time.monotonic() - began
    assert 1 <= len(asked) <= 1 + took_s / 6


@pytest.mark.parametrize("name", ["TopicAuthorizationException", "PolicyViolationException"])
def test_the_plan_lists_checks_that_a_users_rights_prevent(name: str) -> None:
    cluster = FakeCluster()
    cluster.hidden_topics = 3
    cluster.mark_refusal = ClusterError("may not create kafka-pareto.lock", name)
    no_mark, hidden = missing_safeguards(cluster, cluster.describe())
    assert "other installations of this tool can load the cluster" in no_mark
    assert "may not create kafka-pareto.lock" in no_mark
    assert hidden.startswith("not watched: 3 topics of the cluster")
    assert missing_safeguards(FakeCluster(), cluster.describe()) == []


def test_missing_rights_are_in_the_plan_that_a_user_reads_before_consent(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = FakeCluster()
    cluster.hidden_topics = 3
    campaign = started(tmp_path, foreign())
    plan = ProducerRuntime().cost_of(campaign.study, {CASE: 1}, sized=True)
    with caplog.at_level(logging.WARNING):
        ClusterSystem(cluster).require_fit(plan, campaign, CASE)
    assert message_in([*caplog.messages, "error: consent"]).startswith("plan: not watched: 3 topics of the cluster")
