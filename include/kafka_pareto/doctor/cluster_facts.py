"""Query a cluster for the values the guide's checks need. Read only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from kafka_pareto.doctor.guide import Guide, Plain
from kafka_pareto.errors import BadInputError, ClusterError
from kafka_pareto.kafka.cluster import Broker, Cluster

_LOG_FOLDERS = ("log.dirs", "log.dir")
_UNKNOWN = {
    "UnknownTopicOrPartitionException": "TOPIC={topic}: the topic does not exist on this cluster",
    "InvalidTopicException": "TOPIC={topic}: the topic does not exist on this cluster",
    "GroupIdNotFoundException": "GROUP={group}: the consumer group does not exist on this cluster",
    "InvalidGroupIdException": "GROUP={group}: the consumer group does not exist on this cluster",
}

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class ClusterFacts:
    """Values read from a cluster; None if not queried or not permitted.

    Attributes:
        configs: Settings by broker ID, without sensitive ones.
        topic: The topic's settings, with `partitions` and `replication_factor`.
        members: Consumers in the group.
        denied: Queries denied to this user: `broker`, `topic`, `group`.
    """

    brokers: tuple[Broker, ...]
    kafka_version: str | None
    configs: dict[int, dict[str, str | None]] | None
    topic: dict[str, Plain | None] | None
    members: int | None
    denied: frozenset[str] = frozenset()

    def log_folders(self, broker: int) -> list[str]:
        """List a broker's log folders; empty if it does not report them."""
        configs = (self.configs or {}).get(broker, {})
        text = next((text for name in _LOG_FOLDERS if (text := configs.get(name))), "")
        return [folder.strip() for folder in text.split(",") if folder.strip()]


def cluster_facts(cluster: Cluster, guide: Guide, topic: str | None, group: str | None) -> ClusterFacts:
    """Query the settings the guide names.

    Raises:
        BadInputError: If the topic or group does not exist.
        ClusterError: If the cluster cannot be reached.
    """
    denied: set[str] = set()

    def ask(about: str, question: Callable[[], Answer]) -> Answer | None:
        try:
            return question()
        except ClusterError as error:
            if error.kafka_error in _UNKNOWN:
                raise BadInputError(_UNKNOWN[error.kafka_error].format(topic=topic, group=group)) from error
            if "Authorization" not in error.kafka_error:
                raise
            denied.add(about)
            return None

    described = cluster.describe()
    names = [*guide.names("broker"), *_LOG_FOLDERS]
    configs = ask("broker", lambda: cluster.broker_configs(names))
    about_topic = None if topic is None else ask("topic", lambda: _topic(cluster, guide, topic))
    members = None if group is None else ask("group", lambda: cluster.group_members(group))
    version = described.kafka_version
    return ClusterFacts(described.brokers, version, configs, about_topic, members, frozenset(denied))


def _topic(cluster: Cluster, guide: Guide, topic: str) -> dict[str, Plain | None]:
    health = cluster.topic_health(topic)
    configs = cluster.topic_configs(topic, guide.names("topic"))
    return {**configs, "partitions": len(health.partitions), "replication_factor": health.replication_factor}
