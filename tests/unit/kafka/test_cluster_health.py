"""Health of a topic's partitions, and a helper process that cannot start."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.errors import BadInputError, ClusterError
from kafka_pareto.kafka.cluster import Cluster, PartitionHealth, TopicHealth
from kafka_pareto.settings import load_settings

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("in_sync_replicas", "leader_id", "reason"),
    [
        ([3, 3], 1, ""),
        ([3, 2], 1, "topic t: of 2 partitions 1 with a replica out of sync"),
        ([1, 2], 1, "topic t: of 2 partitions 1 below min.insync.replicas=2, 2 with a replica out of sync"),
        ([3], None, "topic t: of 1 partitions 1 without a leader"),
    ],
)
def test_an_unhealthy_topic_is_described_by_its_partitions_faults(
    in_sync_replicas: list[int], leader_id: int | None, reason: str
) -> None:
    partitions = tuple(
        PartitionHealth(partition=number, leader_id=leader_id, replicas=3, in_sync_replicas=in_sync)
        for number, in_sync in enumerate(in_sync_replicas)
    )
    health = TopicHealth(topic="t", partitions=partitions, min_insync_replicas=2)

    assert health.reason == reason
    assert health.is_healthy == (reason == "")


def test_a_missing_java_is_named_with_a_fix(tmp_path: Path) -> None:
    settings = load_settings().model_copy(update={"java": str(tmp_path / "no-java")})

    with pytest.raises(BadInputError, match=r"no-java.*Java 17"), Cluster("127.0.0.1:1", None, settings):
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
