"""Name this tool's topics, and make sure that none outlives its use.

The creator of a topic deletes it when the step ends, in any state. If that is impossible, the brokers delete its
records: they keep them for a day, and at most `retention.bytes` per partition.
"""

from __future__ import annotations

import re

from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.measurement.limits import SEGMENT_BYTES
from kafka_pareto.study.workload import SentTopic, Topic

PREFIX = "kafka-pareto."
"""Prefix of all topics that this tool creates; nothing else is sent to them."""

RETENTION_HOURS = 24
"""Exceeds the longest step (`kafka_pareto_airflow/task_rules.py`), and thus the need for any record."""

_OF_A_CASE = re.compile(rf"{re.escape(PREFIX)}[^.]+\.[^.]+\..+")
_GIB = 1 << 30
_LEAST_RETENTION_BYTES = _GIB
# Each partition keeps up to one segment of deleted data per replica: 38 GiB for 100 partitions.
_FEW_PARTITIONS = 12
_SMALL_SEGMENT_BYTES = 16 << 20


def topic_name(keys: CampaignKeys, case: str) -> str:
    """Return a case's topic; all topics of a study share the prefix `kafka-pareto.<study>.`."""
    return f"{PREFIX}{keys.study}.{keys.campaign}.{case}"


def segment_bytes(topic: Topic) -> int:
    """Return the size of a segment; deleted records leave the disk only in whole segments."""
    return SEGMENT_BYTES if topic.topic_partitions <= _FEW_PARTITIONS else _SMALL_SEGMENT_BYTES


def topic_configs(topic: Topic, needed_bytes: int) -> dict[str, str]:
    """Return the settings of every measured topic.

    Args:
        topic: As in the study; a size that it limits replaces `needed_bytes`.
        needed_bytes: Maximum size at a time. Each partition may keep twice as much: all of it may be in one partition,
            and the cluster's rate is a guess before the first load.
    """
    kept_bytes = max(2 * needed_bytes, _LEAST_RETENTION_BYTES)
    if isinstance(topic, SentTopic) and topic.retained_gib is not None:
        kept_bytes = round(topic.retained_gib * _GIB / topic.topic_partitions)
    return {
        "min.insync.replicas": str(topic.min_insync_replicas),
        "segment.bytes": str(segment_bytes(topic)),
        "file.delete.delay.ms": "1000",
        "cleanup.policy": "delete",
        "retention.ms": str(RETENTION_HOURS * 3_600_000),
        "retention.bytes": str(kept_bytes),
    }


def left_topics(cluster: Cluster) -> list[str]:
    """List the topics of campaigns on the cluster; if no campaign is running, they are leftovers."""
    return [topic for topic in cluster.topics(PREFIX) if _OF_A_CASE.fullmatch(topic)]
