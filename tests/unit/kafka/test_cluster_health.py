"""What the cluster door makes of Kafka's answers, and of a helper that cannot start."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.cluster import Cluster, PartitionHealth, TopicHealth
from kafka_pareto.settings import load_settings

pytestmark = pytest.mark.fast


def health(*in_sync_replicas: int, leader_id: int | None = 1) -> TopicHealth:
    partitions = tuple(
        PartitionHealth(partition=number, leader_id=leader_id, replicas=3, in_sync_replicas=in_sync)
        for number, in_sync in enumerate(in_sync_replicas)
    )
    return TopicHealth(topic="t", partitions=partitions, min_insync_replicas=2)


def test_topic_with_all_replicas_in_sync_is_healthy_without_a_reason() -> None:
    assert health(3, 3).is_healthy
    assert health(3, 3).reason == ""


def test_lagging_replica_is_unhealthy_but_above_min_isr() -> None:
    lagging = health(3, 2)

    assert not lagging.is_healthy
    assert lagging.reason == "topic t: of 2 partitions 1 with a replica out of sync"


def test_partition_below_min_isr_is_counted_apart() -> None:
    assert health(1, 2).reason == (
        "topic t: of 2 partitions 1 below min.insync.replicas=2, 2 with a replica out of sync"
    )


def test_partition_without_a_leader_is_unhealthy_even_when_in_sync() -> None:
    leaderless = health(3, leader_id=None)

    assert not leaderless.is_healthy
    assert "1 without a leader" in leaderless.reason


def test_java_that_is_not_there_is_named_with_a_remedy(tmp_path: Path) -> None:
    settings = load_settings().model_copy(update={"java": str(tmp_path / "no-java")})

    with pytest.raises(ClusterError, match=r"no-java.*Java 17"), Cluster("127.0.0.1:1", None, settings):
        pass


def test_incomplete_jars_are_named(tmp_path: Path) -> None:
    settings = load_settings().model_copy(update={"kafka_jars": tmp_path})

    with pytest.raises(ClusterError, match=f"ClusterAdmin.*Kafka's jars in {tmp_path}"):  # noqa: SIM117
        with Cluster("127.0.0.1:1", None, settings):
            pass


@pytest.mark.slow
def test_address_that_makes_no_sense_is_refused_when_entering() -> None:
    with pytest.raises(ClusterError, match="bootstrap servers"), Cluster("no port here", None, load_settings()):
        pass
