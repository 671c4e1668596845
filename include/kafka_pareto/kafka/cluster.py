"""Query a cluster and manage its topics through one long-lived AdminClient.

Only Kafka's Java client reads a Java `client.properties` (JKS stores, JAAS). It runs in a helper process
(`include/kafka/src`) behind a socket, so a request costs milliseconds instead of a JVM start.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter

from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.admin_process import ClusterHelper
from kafka_pareto.kafka.topic_mark import TopicMark
from kafka_pareto.settings import Settings

_CONTACT_TIMEOUT_S = 15.0
_REQUEST_TIMEOUT_S = 30.0
_CREATION_DEADLINE_S = 30.0
_POLL_S = 0.02

Answer = TypeVar("Answer")


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Broker(_Answer):
    """A live broker and its advertised address."""

    id: int
    host: str
    port: int
    rack: str | None


class ClusterDescription(_Answer):
    """The cluster and its live brokers.

    Attributes:
        controller_id: Leader of the metadata quorum; None without permission.
        kafka_version: Release of the broker that answered, like `4.3`, from the newest metadata version it supports.
    """

    cluster_id: str
    brokers: tuple[Broker, ...]
    controller_id: int | None
    kafka_version: str | None


class PartitionHealth(_Answer):
    """One partition: its leader's broker ID (None if leaderless), and its replica and in-sync replica counts."""

    partition: int
    leader_id: int | None
    replicas: int
    in_sync_replicas: int


class TopicHealth(_Answer):
    """Health of a topic's partitions, as `kafka-topics --describe` counts it."""

    topic: str
    partitions: tuple[PartitionHealth, ...]
    min_insync_replicas: int

    @property
    def leaders(self) -> tuple[int | None, ...]:
        """List each partition's leader; compare two answers to see whether leadership moved."""
        return tuple(partition.leader_id for partition in self.partitions)

    @property
    def replication_factor(self) -> int:
        """Return the smallest replica count of any partition."""
        return min(partition.replicas for partition in self.partitions)

    @property
    def is_healthy(self) -> bool:
        """Return whether each partition has a leader and all replicas in sync."""
        return not any(self._counts().values())

    @property
    def reason(self) -> str:
        """Describe the problem; empty if healthy."""
        return _problem(self.topic, len(self.partitions), self._counts())

    def _counts(self) -> dict[str, int]:
        """Count the partitions that are offline, that reject writes with acks=all, and that lack a replica."""
        least, partitions = self.min_insync_replicas, self.partitions
        return {
            "without a leader": self.leaders.count(None),
            f"below min.insync.replicas={least}": sum(each.in_sync_replicas < least for each in partitions),
            "with a replica out of sync": sum(each.in_sync_replicas < each.replicas for each in partitions),
        }


class TroubledTopic(_Answer):
    """A topic with a leaderless or under-replicated partition."""

    topic: str
    partitions: int
    leaderless: int
    out_of_sync: int

    @property
    def reason(self) -> str:
        """Describe the problem."""
        counts = {"without a leader": self.leaderless, "with a replica out of sync": self.out_of_sync}
        return _problem(self.topic, self.partitions, counts)


class AllTopicsHealth(_Answer):
    """Number of the topics this user may describe, and the unhealthy ones; Kafka hides all others."""

    topics: int
    troubled: tuple[TroubledTopic, ...]


def _problem(topic: str, partitions: int, counts: Mapping[str, int]) -> str:
    wrong = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return f"topic {topic}: of {partitions} partitions {wrong}" if wrong else ""


class LogDir(_Answer):
    """One log folder of one broker.

    Attributes:
        total_bytes: Size of its volume; None, like `usable_bytes`, for brokers before Kafka 3.3.
        topic_bytes: Size of the requested topic there.
        error: Kafka's reason if the folder is offline.
    """

    broker_id: int
    path: str
    total_bytes: int | None = None
    usable_bytes: int | None = None
    topic_bytes: int
    error: str | None


class Cluster:
    """A context in which a cluster can be queried and its topics managed.

    Threads may share it; their requests are queued. The thread that enters the context must outlive it, since the
    helper process is killed with that thread.

    Args:
        bootstrap_servers: `host:port,…`
        client_config: A Java `client.properties` (SASL, TLS); None for a plaintext cluster.
        settings: Locates Java and Kafka's jars.

    Raises:
        BadInputError: On entering, if the client configuration cannot be read, or Java is missing.
        ClusterError: On entering, if the client cannot be set up. It connects on the first request only.
    """

    def __init__(self, bootstrap_servers: str, client_config: Path | None, settings: Settings) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._client_config = client_config
        self._settings = settings

    def __enter__(self) -> Self:
        self._helper = ClusterHelper(self._bootstrap_servers, self._client_config, self._settings)
        return self

    def __exit__(self, *_: object) -> None:
        self._helper.close()

    def describe(self) -> ClusterDescription:
        """Return the cluster's ID, version and live brokers.

        Raises:
            ClusterError: If the cluster cannot be reached or denies access, as in all other methods.
        """
        return ClusterDescription.model_validate(self._ask("describe_cluster", timeout_s=_CONTACT_TIMEOUT_S))

    def create_topic(
        self, topic: str, partitions: int, replication_factor: int, configs: Mapping[str, str] | None = None
    ) -> Literal["created", "existed"]:
        """Create the topic and wait until each partition has its leader and replicas; keep an identical existing one.

        Raises:
            ClusterError: If it cannot be created, is not complete in time, or exists with other counts.
        """
        outcome: Literal["created", "existed"] = self._ask(
            "create_topic",
            topic=topic,
            partitions=partitions,
            replication_factor=replication_factor,
            configs=dict(configs or {}),
        )
        health = self._wait_until_complete(topic) if outcome == "created" else self.topic_health(topic)
        if (len(health.partitions), health.replication_factor) != (partitions, replication_factor):
            raise self._helper.error(
                "create_topic",
                f"topic {topic} already exists with partitions={len(health.partitions)} and replication factor "
                f"{health.replication_factor} instead of {partitions} and {replication_factor}",
                "delete it or use another name",
            )
        return outcome

    def delete_topic(self, topic: str) -> Literal["deleted", "absent"]:
        """Delete the topic if it exists."""
        outcome: Literal["deleted", "absent"] = self._ask("delete_topic", topic=topic)
        return outcome

    def topic_health(self, topic: str, timeout_s: float = _REQUEST_TIMEOUT_S) -> TopicHealth:
        """Return the leaders and in-sync replicas of the topic's partitions."""
        return TopicHealth.model_validate(self._ask("topic_health", timeout_s, topic=topic))

    def topics(self, prefix: str) -> list[str]:
        """List the topics with this prefix that this user may describe."""
        return sorted(self._ask("topic_ids", _CONTACT_TIMEOUT_S, prefix=prefix))

    def all_topics_health(self, timeout_s: float = _REQUEST_TIMEOUT_S) -> AllTopicsHealth:
        """Check all topics that this user may describe."""
        return AllTopicsHealth.model_validate(self._ask("all_topics_health", timeout_s))

    def topics_on_brokers(self) -> int:
        """Count all topics on the brokers, including those that this user may not describe."""
        return int(self._ask("topics_on_brokers"))

    def mark(self, topic: str) -> TopicMark:
        """Return the topic as a mark that only one process at a time can create."""
        return TopicMark(self._ask, topic)

    def end_offset(self, topic: str) -> int:
        """Sum the partitions' high watermarks. For acks 0 and 1 they lag behind acknowledged records."""
        return sum(self.end_offsets(topic))

    def end_offsets(self, topic: str) -> list[int]:
        """Return each partition's high watermark, by its number."""
        return [int(each) for each in self._ask("end_offsets", topic=topic)]

    def delete_records(self, topic: str) -> None:
        """Delete all records up to the high watermarks. Brokers free the disk at their next retention check."""
        self._ask("delete_records", topic=topic)

    def log_dirs(self, topic: str) -> tuple[LogDir, ...]:
        """List the brokers' log folders with their volumes' size and free space and the topic's size."""
        return TypeAdapter(tuple[LogDir, ...]).validate_python(self._ask("log_dirs", topic=topic))

    def broker_configs(self, names: Sequence[str]) -> dict[int, dict[str, str | None]]:
        """Return the named settings by broker ID; None if unset. Unknown and sensitive settings are omitted."""
        answer = self._ask("broker_configs", names=list(names))
        return {int(broker): configs for broker, configs in answer.items()}

    def topic_configs(self, topic: str, names: Sequence[str]) -> dict[str, str | None]:
        """Return the topic's named settings, as in `broker_configs`."""
        return dict(self._ask("topic_configs", topic=topic, names=list(names)))

    def group_members(self, group: str) -> int:
        """Count the consumers currently in the group."""
        return int(self._ask("group_members", group=group))

    def wait_for_end_offset_growth(self, topic: str, before: int, expected: int, deadline_s: float) -> int:
        """Poll until the topic has `expected` records more than `before`, or the deadline; return its growth.

        Fewer records than expected are losses, more are duplicates, unless some are still in flight.
        """
        return _poll(lambda: self.end_offset(topic) - before, lambda found: found >= expected, deadline_s)

    def _wait_until_complete(self, topic: str) -> TopicHealth:
        def health_once_known() -> TopicHealth | None:
            try:
                return self.topic_health(topic)
            except ClusterError as error:
                # The broker does not have the new topic yet.
                if error.kafka_error == "UnknownTopicOrPartitionException":
                    return None
                raise

        health = _poll(health_once_known, lambda seen: seen is not None and seen.is_healthy, _CREATION_DEADLINE_S)
        if health is None or not health.is_healthy:
            reason = health.reason if health else f"topic {topic} was created but is not visible yet"
            raise self._helper.error("create_topic", reason, "check that all brokers are up")
        return health

    def _ask(self, operation: str, timeout_s: float = _REQUEST_TIMEOUT_S, **arguments: Any) -> Any:
        return self._helper.ask(operation, timeout_s, **arguments)


def _poll(look: Callable[[], Answer], enough: Callable[[Answer], bool], deadline_s: float) -> Answer:
    """Poll until the value is enough or the deadline has passed; return the last value either way."""
    deadline = time.monotonic() + deadline_s
    while not enough(found := look()) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    return found
