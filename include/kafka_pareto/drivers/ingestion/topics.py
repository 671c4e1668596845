"""The topics of a user's ingestion: of its rows, and of malformed ones."""

from __future__ import annotations

import time

from kafka_pareto.analysis.wording import counted
from kafka_pareto.drivers.ingestion.begun_ingestions import BegunIngestion
from kafka_pareto.drivers.ingestion.file_to_send import FileToSend
from kafka_pareto.errors import BadInputError, ClusterError
from kafka_pareto.kafka.cluster import Cluster

_TOPICS_LIMIT = "max.message.bytes"
_SETTLED_WITHIN_S = 60.0
_ASKED_EVERY_S = 1.0
_STAYS_FOR_S = 2.0
_UNCOMPACTED = {"cleanup.policy": "delete"}  # a cluster's default could compact rows away before they are read back


class IngestionTopics:
    """Check and create the topics of ingestions on one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def require_fitting(self, begun: BegunIngestion, wanted: FileToSend) -> int:
        """Require topics without records, unless they may hold some; return the partitions, 0 for a new topic."""
        for topic in () if wanted.appends else (begun.topic, begun.malformed_topic):
            if self.partitions_of(topic) and (held := self._cluster.end_offset(topic)):
                raise BadInputError(
                    f"topic {topic}: holds {counted(held, 'record')} that no ingestion of this installation sent; use "
                    "a new or empty topic, add APPEND=yes if nothing else sends to it meanwhile, or delete the topics "
                    f"{begun.topic} and {begun.malformed_topic}"
                )
        if (found := self.partitions_of(begun.malformed_topic)) > 1:
            raise BadInputError(
                f"topic {begun.malformed_topic}: must have one partition, but has {found}; use another topic"
            )
        found = self.partitions_of(begun.topic)
        require_as_asked(wanted, found)
        if found and (wanted.appends or wanted.key):
            self._require_uncompacted(begun, wanted)
        return found

    def make(self, begun: BegunIngestion, partitions: int, replicas: int) -> None:
        """Create the topics that do not exist."""
        for topic, count in ((begun.topic, partitions), (begun.malformed_topic, 1)):
            if not self.partitions_of(topic):
                self._cluster.create_topic(topic, count, replicas, _UNCOMPACTED)

    def _require_uncompacted(self, begun: BegunIngestion, wanted: FileToSend) -> None:
        policy = self._topic_config(begun.topic, "cleanup.policy")
        if "compact" not in policy:
            return
        if wanted.key:
            raise BadInputError(
                f"topic {begun.topic}: cleanup.policy={policy}: compaction may delete rows before they are read back; "
                "set cleanup.policy=delete until all rows have arrived"
            )
        raise BadInputError(
            f"topic {begun.topic}: cleanup.policy={policy}: keys are positions in a file, so compaction would "
            "delete rows of other files; use another topic"
        )

    def ends(self, begun: BegunIngestion) -> dict[str, object]:
        """Return where the ingestion's own records begin.

        Raises:
            BadInputError: If the topic's end moves: rows could not be distinguished from others there.
        """
        before = self._cluster.end_offsets(begun.topic)
        time.sleep(_STAYS_FOR_S)
        ends = self._cluster.end_offsets(begun.topic)
        if ends != before:
            raise BadInputError(f"topic {begun.topic}: another program sends to it; stop that program first")
        return {"from_offsets": tuple(ends), "malformed_from_offset": self._cluster.end_offset(begun.malformed_topic)}

    def partitions_of(self, topic: str) -> int:
        """Return a topic's number of partitions; 0 if it does not exist."""
        try:
            return len(self._cluster.topic_health(topic).partitions)
        except ClusterError as error:
            if error.kafka_error != "UnknownTopicOrPartitionException":
                raise
            return 0

    def max_message_bytes(self, topic: str) -> int:
        """Return the topic's batch size limit."""
        return int(self._topic_config(topic, _TOPICS_LIMIT))

    def _topic_config(self, topic: str, name: str) -> str:
        """Return a setting that every topic has."""
        return str(self._cluster.topic_configs(topic, [name])[name])

    def wait_until_settled(self, known: BegunIngestion) -> None:
        """Wait until all replicas are in sync, and both topics' ends stay unchanged for seconds.

        A killed run's last batches are then counted, unless a replica hangs for longer and stores them later. Such rows
        are sent twice; the read-back finds them.

        Raises:
            ClusterError: If that takes more than a minute.
        """
        topics = (known.topic, known.malformed_topic)
        deadline = time.monotonic() + _SETTLED_WITHIN_S
        while reason := next(filter(None, (self._cluster.topic_health(topic).reason for topic in topics)), ""):
            if time.monotonic() > deadline:
                raise ClusterError(f"{reason}; fix this first, then run make ingest again")
            time.sleep(_ASKED_EVERY_S)
        ends = [self._cluster.end_offset(topic) for topic in topics]
        while True:
            time.sleep(_STAYS_FOR_S)
            before, ends = ends, [self._cluster.end_offset(topic) for topic in topics]
            if ends == before:
                return
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"topic {known.topic}: another program sends to it; stop that program, then run make ingest again"
                )


def require_as_asked(wanted: FileToSend, found: int) -> None:
    """Refuse a topic with another number of partitions than wanted; 0 for a new topic."""
    if found and wanted.partitions not in (None, found):
        raise BadInputError(
            f"topic {wanted.topic}: has {counted(found, 'partition')}; expected PARTITIONS={wanted.partitions}"
        )
