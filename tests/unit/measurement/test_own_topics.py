"""The tool's topics are deleted when their step ends; if they cannot be, their records expire."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import cast

import pytest

from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.drivers.common.cluster_access import OpenCluster, deleted_at_the_end
from kafka_pareto.drivers.producer.cost import bytes_in_topic, bytes_of_a_repetition, bytes_on_disk
from kafka_pareto.drivers.producer.study import ProducerStudy
from kafka_pareto.errors import ClusterError, GateError, PlanError, SafetyStop
from kafka_pareto.measurement.limits import DELETE_RECORDS_AFTER_BYTES
from kafka_pareto.measurement.own_topics import left_topics, topic_configs
from kafka_pareto.study.study_file import load_study
from kafka_pareto.study.workload import SentTopic
from kafka_pareto_airflow.task_rules import RULES
from tests.fakes import FakeCluster, FakeLease
from tests.recorded import STUDIES

pytestmark = pytest.mark.fast

OURS = ["kafka-pareto.steady.c1.1024", "kafka-pareto.steady.c1.1024.live"]


def test_records_that_nobody_deletes_go_within_a_day_and_never_while_a_step_may_need_them() -> None:
    kept = timedelta(milliseconds=int(topic_configs(load_topic("quick"), 0)["retention.ms"]))
    longest = max(
        rule["execution_timeout"] for rule in (RULES["measure"], RULES["confirm"]) if rule["execution_timeout"]
    )
    assert 2 * longest <= kept <= timedelta(days=1)


@pytest.mark.parametrize("name", ["quick", "cold_burst", "steady", "paper"])
def test_a_partition_keeps_more_than_repetitions_send_before_their_records_are_deleted(name: str) -> None:
    study = ProducerStudy.of(load_study(STUDIES / f"{name}.yaml"))
    for case in study.cases:
        sent = bytes_of_a_repetition(study, case)
        kept = int(topic_configs(study.workload, bytes_on_disk(sent))["retention.bytes"])
        assert kept >= 4 * (sent + DELETE_RECORDS_AFTER_BYTES)


def test_a_limited_topic_keeps_its_share_in_each_partition_however_much_is_sent() -> None:
    topic = SentTopic(topic_partitions=100, retained_gib=4.0)

    assert topic_configs(topic, 1 << 40)["retention.bytes"] == str(round(4 * 2**30 / 100))
    assert bytes_in_topic(topic, 1 << 40) == 4 * 2**30 + 2 * 100 * (16 << 20)  # and two segments of each partition
    assert bytes_in_topic(SentTopic(), 1 << 40) > 1 << 40


@pytest.mark.parametrize(
    "end", [None, SafetyStop("s"), PlanError("p"), GateError("g"), SystemExit(143), KeyboardInterrupt()]
)
def test_a_step_deletes_its_topics_in_whatever_state_it_ends(end: BaseException | None) -> None:
    system = loading([*OURS, "orders"])

    def step() -> None:
        with deleted_at_the_end(system, OURS):
            if end is not None:
                raise end

    if end is None:
        step()
    else:
        with pytest.raises(type(end)):
            step()
    assert system.cluster.topics("") == ["orders"]


def test_a_step_that_has_lost_its_lease_leaves_the_topics_to_its_next_try(caplog: pytest.LogCaptureFixture) -> None:
    lease = FakeLease()
    system = loading(OURS, lease)
    with caplog.at_level(logging.WARNING), deleted_at_the_end(system, OURS):
        lease.held = False  # this process stood still, and the next try of the step loads the same topics
    assert system.cluster.topics("") == OURS
    assert f"the lease was lost: topic {OURS[0]} is left to the next attempt" in caplog.text


def test_topics_on_brokers_of_the_studys_own_go_with_these() -> None:
    system = replace(loading(OURS), brokers=cast("Brokers", SimpleNamespace()))
    with deleted_at_the_end(system, OURS):
        pass
    assert system.cluster.topics("") == OURS


def test_a_topic_that_cannot_be_deleted_is_named_and_hides_no_error(caplog: pytest.LogCaptureFixture) -> None:
    system = loading(OURS)

    def refuse(topic: str) -> str:
        raise ClusterError(f"delete_topic {topic}: no answer")

    system.cluster.delete_topic = refuse
    with (
        caplog.at_level(logging.WARNING),
        pytest.raises(SafetyStop, match="harmed"),
        deleted_at_the_end(system, OURS),
    ):
        raise SafetyStop("harmed")
    assert [record.getMessage().split(" could not")[0] for record in caplog.records] == [
        f"topic {each}" for each in OURS
    ]
    assert "make remove-topics" in caplog.text


def test_left_topics_are_those_of_campaigns_and_no_others() -> None:
    cluster = FakeCluster()
    others = ["orders", "kafka-pareto.lock", "kafka-pareto-books", "kafka-pareto.mine", "my.kafka-pareto.a.b.c"]
    cluster.end_offsets.update(dict.fromkeys([*OURS, *others], 0))
    assert left_topics(cluster) == OURS


def loading(topics: Sequence[str], lease: FakeLease | None = None) -> OpenCluster:
    """Return a cluster with these topics, as a step has it open."""
    cluster = FakeCluster()
    cluster.end_offsets.update(dict.fromkeys(topics, 7))
    return OpenCluster(cluster, cluster.describe(), lease or FakeLease(), "fake:9092", None)


def load_topic(name: str):
    return ProducerStudy.of(load_study(STUDIES / f"{name}.yaml")).workload
