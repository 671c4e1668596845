"""Name this tool's topics, and make sure that none outlives its use.

Whoever creates a topic deletes it when the step ends, in whatever state. If nobody can, the brokers delete its records:
they keep them for a day, and at most `retention.bytes` per partition.
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
    """Return a case's topic; all topics of a study share the prefix `kafka-pareto.<study>.`."""
    return f"{PREFIX}{keys.study}.{keys.campaign}.{case}"


def topic_configs(topic: Topic, needed_bytes: int) -> dict[str, str]:
    """Return the settings of every measured topic.

    Args:
        topic: As in the study.
        needed_bytes: The most to hold at once. Each partition keeps twice as much: all of it may be in one partition,
            and the cluster's rate is a guess before the first load.
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
    """List the topics of campaigns on the cluster; if none is running, they are left over."""
    return [topic for topic in cluster.topics(PREFIX) if _OF_A_CASE.fullmatch(topic)]
