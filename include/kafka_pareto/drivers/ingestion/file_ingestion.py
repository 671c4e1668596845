"""Sends one file of a user's to a topic of theirs: it can be interrupted, and goes on where it stopped."""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from kafka_pareto.errors import BadInputError, ClusterError, LeaseHeldError, LoadToolError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.kafka.producer_config import PropertyValue
from kafka_pareto.load.ingestion_load import CheckRequest, IngestionLoad, IngestionRequest
from kafka_pareto.load.ingestion_output import CheckOutput, IngestionOutput
from kafka_pareto.storage.private_file import write_private
from kafka_pareto.storage.record import Record

# The final settings of the benchmark that the study `ingest` repeats, with all acknowledgements.
PROPERTIES: dict[str, PropertyValue] = {
    "acks": "all",
    "enable.idempotence": True,
    "batch.size": 524288,
    "compression.type": "lz4",
    "buffer.memory": 134217728,
}
DEFAULT_PARTITIONS = 12
_MOST_REPLICAS = 3
_SETTLED_WITHIN_S = 60.0
_ASKED_EVERY_S = 1.0
_LONGEST_S = 7 * 24 * 3600.0


class BegunIngestion(Record):
    """Holds what an ingestion was begun with, so that it goes on with that file alone, into the same partitions.

    Attributes:
        partitions: Of the topic; None in a file of an earlier release.
        is_done: True once all rows have arrived.
    """

    file: str
    sha256: str
    bytes: int
    topic: str
    cluster_id: str
    delimiter: str
    partitions: int | None = None
    is_done: bool = False


@dataclass(frozen=True)
class FileToSend:
    """Describes what is to be sent where.

    Attributes:
        partitions: Of a topic that is made; None for as many as one has that is there, else 12.
        most_mib_s: What is read in each second at most; 0 for no limit.
    """

    file: Path
    topic: str
    delimiter: str = ","
    partitions: int | None = None
    most_mib_s: float = 0.0


@dataclass(frozen=True)
class Arrived:
    """Holds what came of it: what the tool counted, and what file and topic were found to hold afterwards."""

    output: IngestionOutput
    held: CheckOutput


class FileIngestion:
    """Sends files to topics of one cluster, and remembers in a folder what it has begun."""

    def __init__(self, cluster: Cluster, tool: IngestionLoad, folder: Path) -> None:
        self._cluster = cluster
        self._tool = tool
        self._folder = folder

    @contextmanager
    def alone(self, topic: str) -> Iterator[None]:
        """Keeps every other run of this installation from the topic while the context is open: two send all twice.

        Raises:
            LeaseHeldError: If another run has it.
            ClusterError: If the cluster does not answer.
        """
        place = self._place(self._cluster.describe().cluster_id, topic).with_suffix(".lock")
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with place.open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise LeaseHeldError(
                    f"topic {topic}: another make ingest sends to it; wait until it has ended, or stop it"
                ) from None
            yield

    def begin(self, wanted: FileToSend) -> BegunIngestion:
        """Makes the topic, or finds it as an earlier run has left it, and returns what is to be sent: within `alone`.

        Raises:
            BadInputError: If the file cannot be read, was another one when it was begun, or the topic is no place for
                it: it has other partitions, or records of somebody else's.
            LoadToolError: If most of the file's first rows do not fit the delimiter.
            ClusterError: If the cluster does not answer.
        """
        description = self._cluster.describe()
        size, digest = file_digest(wanted.file)
        begun = BegunIngestion(
            file=str(wanted.file.resolve()),
            sha256=digest,
            bytes=size,
            topic=wanted.topic,
            cluster_id=description.cluster_id,
            delimiter=wanted.delimiter,
        )
        known = self._known(begun)
        if known is None:
            self._tool.check(CheckRequest(_LONGEST_S, file=wanted.file, delimiter=wanted.delimiter))
            partitions = self._make_topics(wanted, min(len(description.brokers), _MOST_REPLICAS))
            begun = begun.model_copy(update={"partitions": partitions})
            self._keep(begun)
            return begun
        if known.is_done:
            raise BadInputError(
                f"topic {wanted.topic}: {known.file} was sent to it whole; take another topic, or delete this one, "
                f"{malformed_topic(wanted.topic)} and {self._place(begun.cluster_id, begun.topic)}"
            )
        if (known.sha256, known.delimiter) != (digest, wanted.delimiter):
            raise BadInputError(
                f"{wanted.file}: topic {wanted.topic} was begun with {known.file} of {known.bytes:,} bytes, and this "
                "is another file, or the same one changed since (or another delimiter); go on with that one, or take "
                "another topic"
            )
        self._require_same_partitions(known, wanted)
        self._wait_until_settled(wanted.topic)
        return known

    def send(
        self, begun: BegunIngestion, wanted: FileToSend, follow: Callable[[str], None], watch: Callable[[], None] | None
    ) -> Arrived:
        """Sends what the topic has not, and reads back what it then holds: within `alone`, as `begin`.

        Args:
            begun: As `begin` returned it.
            wanted: As `begin` got it.
            follow: Gets what the tool says of its progress, each second: a line of JSON.
            watch: Is asked each second; an error that it raises ends the load.

        Raises:
            LoadToolError: If rows could not be sent, or the topic does not hold the file's rows afterwards. What has
                arrived stays; the next call goes on.
        """
        request = IngestionRequest(
            file=wanted.file,
            topic=wanted.topic,
            properties=PROPERTIES,
            timeout_s=_LONGEST_S,
            delimiter=wanted.delimiter,
            path="batches",
            is_resumable=True,
            most_mib_s=wanted.most_mib_s,
        )
        result = self._tool.follow(request, follow, watch)
        if result.output.failure:
            raise LoadToolError(f"{wanted.file}: {result.output.failure}")
        held = self._tool.check(
            CheckRequest(_LONGEST_S, file=wanted.file, topic=wanted.topic, delimiter=wanted.delimiter)
        )
        if held.file is None or held.topic is None or held.file.hash != held.topic.hash:
            rows = held.topic.rows if held.topic else 0
            raise LoadToolError(
                f"topic {wanted.topic}: its {rows:,} records are not the rows of {wanted.file}: something else was "
                "sent to it, or records were deleted meanwhile"
            )
        malformed = malformed_topic(wanted.topic)
        if (sent := self._cluster.end_offset(malformed)) != held.file.malformed:
            raise LoadToolError(
                f"topic {malformed}: holds {sent:,} records, and {held.file.malformed:,} lines of {wanted.file} are no "
                f"rows: something else was sent to it; delete it, topic {wanted.topic} and {self._place(begun.cluster_id, begun.topic)}, and "
                "begin anew"
            )
        self._keep(begun.model_copy(update={"is_done": True}))
        return Arrived(result.output, held)

    def _make_topics(self, wanted: FileToSend, replicas: int) -> int:
        """Makes both topics, or finds them empty; returns how many partitions the rows' has."""
        malformed = malformed_topic(wanted.topic)
        for topic in (wanted.topic, malformed):
            if self._partitions_of(topic) and (held := self._cluster.end_offset(topic)):
                raise BadInputError(
                    f"topic {topic}: holds {held:,} records, and no ingestion of this installation began it; take a "
                    f"topic that is empty or not there yet, or delete {wanted.topic} and {malformed}"
                )
        found = self._partitions_of(wanted.topic)
        if found and wanted.partitions not in (None, found):
            raise BadInputError(_other_partitions(wanted, found))
        if not found:
            found = wanted.partitions or DEFAULT_PARTITIONS
            self._cluster.create_topic(wanted.topic, found, replicas)
        self._cluster.create_topic(malformed, 1, replicas)
        return found

    def _require_same_partitions(self, known: BegunIngestion, wanted: FileToSend) -> None:
        """Refuses another number of partitions: rows would be looked for where they are not, and sent again.

        Raises:
            BadInputError: If the topic has another number than it was begun with, or than is asked for.
        """
        found = self._partitions_of(wanted.topic)
        if found and wanted.partitions not in (None, found):
            raise BadInputError(_other_partitions(wanted, found))
        if found != (known.partitions or found):
            raise BadInputError(
                f"topic {wanted.topic}: has {found} partitions, and had {known.partitions} when {known.file} was begun; "
                f"take another topic, or delete this one, {malformed_topic(wanted.topic)} and {self._place(known.cluster_id, known.topic)}"
            )

    def _partitions_of(self, topic: str) -> int:
        """Returns how many partitions a topic has; 0 where it is not there."""
        try:
            return len(self._cluster.topic_health(topic).partitions)
        except ClusterError as error:
            if error.kafka_error != "UnknownTopicOrPartitionException":
                raise
            return 0

    def _wait_until_settled(self, topic: str) -> None:
        """Waits until all replicas are in sync: what a killed run sent last is then counted, and not sent twice.

        Raises:
            ClusterError: If that is not so within a minute.
        """
        deadline = time.monotonic() + _SETTLED_WITHIN_S
        while not (health := self._cluster.topic_health(topic)).is_healthy:
            if time.monotonic() > deadline:
                raise ClusterError(f"topic {topic}: {health.reason}; nothing is sent before that is mended")
            time.sleep(_ASKED_EVERY_S)

    def _known(self, begun: BegunIngestion) -> BegunIngestion | None:
        place = self._place(begun.cluster_id, begun.topic)
        try:
            return BegunIngestion.model_validate_json(place.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValidationError as error:
            raise BadInputError(f"{place}: cannot be read; delete it and its topic, and begin anew") from error

    def _keep(self, begun: BegunIngestion) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(self._place(begun.cluster_id, begun.topic), begun.model_dump_json() + "\n")

    def _place(self, cluster_id: str, topic: str) -> Path:
        name = hashlib.sha256(f"{cluster_id}/{topic}".encode()).hexdigest()[:16]
        return self._folder / f"{name}.json"


def _other_partitions(wanted: FileToSend, found: int) -> str:
    return f"topic {wanted.topic}: has {found} partitions, and PARTITIONS={wanted.partitions} was asked for"


def malformed_topic(topic: str) -> str:
    """Returns the topic of a topic's lines that are no rows."""
    return f"{topic}.malformed"


def file_digest(file: Path) -> tuple[int, str]:
    """Returns a file's size in bytes and its SHA-256.

    Raises:
        BadInputError: If it is no file, or cannot be read.
    """
    if not file.is_file():
        raise BadInputError(f"{file}: {'is no file' if file.exists() else 'there is no such file'}")
    try:
        with file.open("rb") as content:
            return os.fstat(content.fileno()).st_size, hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise BadInputError(f"{file}: cannot be read: {error.strerror}") from error
