"""Name the topics that this tool makes, and sees to it that none of them outlives its use.

Whoever makes a topic deletes it as the step ends, in whatever state. Where nobody can, the brokers delete its records:
they keep them for a day, and at most `retention.bytes` a partition.
"""

from __future__ import annotations

import re

from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.measurement.limits import SEGMENT_BYTES
from kafka_pareto.study.workload import Topic

PREFIX = "kafka-pareto."
"""Begins the name of every topic that this tool makes for itself; nobody sends anything else to such a topic."""

RETENTION_HOURS = 24
"""Is longer than any step may run (`kafka_pareto_airflow/task_rules.py`), and so than any record is needed."""

_OF_A_CASE = re.compile(rf"{re.escape(PREFIX)}[^.]+\.[^.]+\..+")
_LEAST_RETENTION_BYTES = 1 << 30
# Each partition keeps up to a segment of what was deleted, on every replica: of 100 partitions that would be 38 GiB.
_FEW_PARTITIONS = 12
_SMALL_SEGMENT_BYTES = 16 << 20


def topic_name(keys: CampaignKeys, case: str) -> str:
    """Return the name of a case's topic; all of a study's topics share the prefix `kafka-pareto.<study>.`."""
    return f"{PREFIX}{keys.study}.{keys.campaign}.{case}"


def topic_configs(topic: Topic, needed_bytes: int) -> dict[str, str]:
    """Return the settings of every topic that is measured.

    Args:
        topic: As the study wants it.
        needed_bytes: What may lie there at once. Each partition keeps twice as much: all of it may be in a single one,
            and the pace of a cluster is a guess before it is loaded.
    """
    return {
        "min.insync.replicas": str(topic.min_insync_replicas),
        # Deleted records leave the disk only in whole segments.
        "segment.bytes": str(SEGMENT_BYTES if topic.topic_partitions <= _FEW_PARTITIONS else _SMALL_SEGMENT_BYTES),
        "file.delete.delay.ms": "1000",
        "cleanup.policy": "delete",
        "retention.ms": str(RETENTION_HOURS * 3_600_000),
        "retention.bytes": str(max(2 * needed_bytes, _LEAST_RETENTION_BYTES)),
    }


def left_topics(cluster: Cluster) -> list[str]:
    """List the topics of campaigns that are on the cluster: while none loads it, they were left there."""
    return [topic for topic in cluster.topics(PREFIX) if _OF_A_CASE.fullmatch(topic)]
