"""Send a user's file to a topic, resumable after an interruption."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from kafka_pareto.drivers.ingestion.begun_ingestions import BegunIngestion, BegunIngestions, file_digest
from kafka_pareto.drivers.ingestion.load import CheckRequest, IngestionLoad, IngestionRequest, most_row_bytes
from kafka_pareto.drivers.ingestion.output import CheckOutput, IngestionOutput
from kafka_pareto.drivers.ingestion.schema_registry import SchemaRegistry
from kafka_pareto.errors import BadInputError, ClusterError, LoadToolError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.kafka.known_properties import DEFAULTS, PropertyValue

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
_TOPICS_LIMIT = "max.message.bytes"
_LIMITED = ("batch.size", "max.request.size")
_MIB = 1 << 20
_GIB = 1 << 30
_LEAST_BUFFER_BYTES = 2 * _MIB  # above the largest row, so no rate limit makes a row too large
_CODEC_BYTES = 4096  # a codec's overhead on an incompressible batch
_SETTLED_WITHIN_S = 60.0
_ASKED_EVERY_S = 1.0
_STAYS_FOR_S = 2.0
_LONGEST_S = 7 * 24 * 3600.0


@dataclass(frozen=True)
class FileToSend:
    """A file and its destination.

    Attributes:
        encoding: How rows become values: `bytes` unchanged, `latin_1` from ISO 8859-1 to UTF-8, `json` as objects,
            `avro` as records.
        key: Columns of the record's key, separated by commas; empty for the row's position in the file.
        schema: A file with the Avro or JSON schema of the values; None for types from the first row.
        registry: Where an Avro schema is registered as `<topic>-value`; None for values without a schema ID.
        partitions: Of a new topic; None for those of an existing one, else 12.
        most_mib_s: Limit for reading the file, and the topic afterwards; 0 for none.
        name: The user's, if the file is a converted copy.
        appends: Whether the topics may hold records already.
        most_bytes: Limit of the values' bytes in total, where they are larger than the rows.
    """

    file: Path
    topic: str
    delimiter: str = ","
    encoding: str = "bytes"
    key: str = ""
    schema: Path | None = None
    registry: SchemaRegistry | None = None
    partitions: int | None = None
    most_mib_s: float = 0.0
    name: str = ""
    appends: bool = False
    most_bytes: float = math.inf

    def value_schema(self) -> str:
        """Return the text of the given schema; empty without one.

        Raises:
            BadInputError: If its file cannot be read.
        """
        if self.schema is None:
            return ""
        try:
            text = self.schema.read_text(encoding="utf-8")
        except OSError as error:
            raise BadInputError(f"SCHEMA={self.schema}: cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise BadInputError(f"SCHEMA={self.schema}: is not UTF-8") from error
        if not text.strip():
            raise BadInputError(f"SCHEMA={self.schema}: is empty, expected a schema")
        return text


@dataclass(frozen=True)
class Arrived:
    """The outcome: the tool's counts, and the contents of file and topic afterwards."""

    output: IngestionOutput
    held: CheckOutput


class FileIngestion:
    """Send files to topics of one cluster, and keep the state of begun ingestions in a folder."""

    def __init__(self, cluster: Cluster, tool: IngestionLoad, folder: Path) -> None:
        self._cluster = cluster
        self._tool = tool
        self._begun = BegunIngestions(folder)

    def alone(self, topic: str) -> AbstractContextManager[None]:
        """Keep other runs away from the topic while the context is open: two would send everything twice.

        Raises:
            LeaseHeldError: If another run has it.
            ClusterError: If the cluster does not answer.
        """
        return self._begun.alone(self._cluster.describe().cluster_id, topic)

    def begin(self, wanted: FileToSend, follow: Callable[[int, int], None] = lambda _read, _of: None) -> BegunIngestion:
        """Create the topics or reuse those of an interrupted run, and return the ingestion to send.

        Args:
            wanted: The file and its topic.
            follow: Called with the bytes of the file compared with the one first sent, and the total.

        Raises:
            BadInputError: If the file is unreadable, not a CSV in its encoding, or differs from the one first sent; if
                the topic has other partitions or foreign records; or if the registry refuses the schema.
            ClusterError: If the cluster or the registry does not answer.
        """
        description = self._cluster.describe()
        size, digest = file_digest(wanted.file, follow)
        known = self._begun.known(description.cluster_id, wanted.topic)
        form = {
            "delimiter": wanted.delimiter,
            "encoding": wanted.encoding,
            "key": wanted.key,
            "value_schema": wanted.value_schema(),
            "registry": wanted.registry.url if wanted.registry else "",
        }
        is_same = known is not None and known.sha256 == digest and known.model_dump(include=set(form)) == form
        if known is None or (known.is_done and wanted.appends and not is_same):
            begun = BegunIngestion(
                file=wanted.name or str(wanted.file.resolve()),
                sha256=digest,
                bytes=size,
                topic=wanted.topic,
                cluster_id=description.cluster_id,
                **form,
            )
            checked = self._tool.check(replace(_check_of(wanted), opens_only=True))
            self._require_below_limit(wanted)
            found = self._require_fitting_topics(begun, wanted)
            if wanted.registry is not None and checked.avro_schema is not None:
                schema_id = wanted.registry.register(f"{wanted.topic}-value", checked.avro_schema)
                begun = begun.model_copy(update={"schema_id": schema_id})
            partitions = found or wanted.partitions or DEFAULT_PARTITIONS
            self._make_topics(begun, partitions, min(len(description.brokers), _MOST_REPLICAS))
            limit = self._max_message_bytes(wanted.topic)
            begun = begun.model_copy(update={"partitions": partitions, "max_message_bytes": limit})
            if wanted.appends:
                begun = begun.model_copy(update=self._ends(begun))
            self._begun.keep(begun)
            return begun
        if known.is_done:
            raise BadInputError(
                f"topic {wanted.topic}: already holds all rows of {known.file}; use another topic, "
                f"or {self._restart_advice(known)}"
            )
        if not is_same:
            raise BadInputError(
                f"{wanted.file}: topic {wanted.topic} was begun with {known.file} of {known.bytes:,} bytes, but the "
                "file, DELIMITER, ENCODING, VALUES, SCHEMA, REGISTRY or KEY has changed since; resume with the "
                "original ones, or use another topic"
            )
        self._require_same_partitions(known, wanted)
        self._wait_until_settled(known)
        return known

    def send(
        self, begun: BegunIngestion, wanted: FileToSend, follow: Callable[[str], None], watch: Callable[[], None] | None
    ) -> Arrived:
        """Send what the topic lacks, and read back its content.

        Args:
            begun: From `begin`.
            wanted: As given to `begin`.
            follow: Receives the tool's progress each second, a line of JSON.
            watch: Called each second; an error it raises ends the run.

        Raises:
            BadInputError: If too many lines are malformed, or the topics differ from the file afterwards.
            LoadToolError: If rows could not be sent. What has arrived stays; the next call resumes.
        """
        request = IngestionRequest(
            file=wanted.file,
            topic=wanted.topic,
            properties=properties_of(begun, wanted.most_mib_s),
            timeout_s=_LONGEST_S,
            delimiter=wanted.delimiter,
            encoding=wanted.encoding,
            path="batches",
            is_resumable=True,
            key=wanted.key,
            schema=wanted.schema,
            schema_id=begun.schema_id,
            most_mib_s=wanted.most_mib_s,
            from_offsets=begun.from_offsets,
            malformed_from_offset=begun.malformed_from_offset,
        )
        output = self._tool.follow(request, follow, watch)
        if output.failure:
            kind = BadInputError if output.is_file_at_fault else LoadToolError
            raise kind(f"{wanted.file}: {output.failure}")
        held = self._tool.check(
            replace(
                _check_of(wanted, begun.schema_id),
                topic=wanted.topic,
                most_row_bytes=most_row_bytes(request.properties),
                most_mib_s=wanted.most_mib_s,
                from_offsets=begun.from_offsets,
            ),
            watch,
        )
        self._require_whole(begun, wanted, held)
        self._begun.keep(begun.model_copy(update={"is_done": True}))
        return Arrived(output, held)

    def _require_whole(self, begun: BegunIngestion, wanted: FileToSend, held: CheckOutput) -> None:
        if held.file is None or held.topic is None or held.file.hash != held.topic.hash:
            rows = held.topic.rows if held.topic else 0
            raise BadInputError(
                f"topic {begun.topic}: its {rows:,} records differ from the rows of {wanted.file}: another program "
                f"sent records to it, or records were deleted; use another topic, or {self._restart_advice(begun)}"
            )
        sent = self._cluster.end_offset(begun.malformed_topic) - begun.malformed_from_offset
        if sent != held.file.malformed:
            raise BadInputError(
                f"topic {begun.malformed_topic}: received {sent:,} records, but {held.file.malformed:,} rows of "
                f"{wanted.file} are malformed: another program sent records to it; use another topic, or "
                f"{self._restart_advice(begun)}"
            )

    def _restart_advice(self, begun: BegunIngestion) -> str:
        place = self._begun.place(begun.cluster_id, begun.topic)
        if begun.from_offsets:
            return f"delete the file {place} and send to another topic"
        return f"delete the topics {begun.topic} and {begun.malformed_topic} and the file {place}, and start again"

    def _require_fitting_topics(self, begun: BegunIngestion, wanted: FileToSend) -> int:
        """Require topics without records, unless they may hold some; return the partitions, 0 for a new topic."""
        for topic in () if wanted.appends else (begun.topic, begun.malformed_topic):
            if self._partitions_of(topic) and (held := self._cluster.end_offset(topic)):
                raise BadInputError(
                    f"topic {topic}: holds {held:,} records that no ingestion of this installation sent; use a new or "
                    f"empty topic, add APPEND=yes if nothing else sends to it meanwhile, or delete the topics "
                    f"{begun.topic} and {begun.malformed_topic}"
                )
        found = self._partitions_of(begun.topic)
        _require_as_asked(wanted, found)
        if found and (wanted.appends or wanted.key):
            self._require_uncompacted(begun, wanted)
        return found

    def _make_topics(self, begun: BegunIngestion, partitions: int, replicas: int) -> None:
        """Create the topics that do not exist."""
        self._cluster.create_topic(begun.topic, partitions, replicas)
        self._cluster.create_topic(begun.malformed_topic, 1, replicas)

    def _require_uncompacted(self, begun: BegunIngestion, wanted: FileToSend) -> None:
        policy = self._topic_config(begun.topic, "cleanup.policy")
        if policy is None and wanted.appends:
            raise BadInputError(f"topic {begun.topic}: APPEND=yes needs DescribeConfigs on it, to rule out compaction")
        if policy is None or "compact" not in policy:
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

    def _ends(self, begun: BegunIngestion) -> dict[str, object]:
        """Return where the ingestion's own records begin.

        Raises:
            BadInputError: If the topic's end moves, or rows cannot be distinguished from others' there.
        """
        if len(self._cluster.end_offsets(begun.malformed_topic)) > 1:
            raise BadInputError(f"topic {begun.malformed_topic}: must have one partition; use another topic")
        before = self._cluster.end_offsets(begun.topic)
        time.sleep(_STAYS_FOR_S)
        ends = self._cluster.end_offsets(begun.topic)
        if ends != before:
            raise BadInputError(f"topic {begun.topic}: another program sends to it; stop that program first")
        return {"from_offsets": tuple(ends), "malformed_from_offset": self._cluster.end_offset(begun.malformed_topic)}

    def _require_below_limit(self, wanted: FileToSend) -> None:
        """Refuse values and keys that are larger than the limit in total; rows alone were compared before."""
        is_larger = wanted.encoding in ("json", "avro") or bool(wanted.key)
        if not is_larger or math.isinf(wanted.most_bytes):
            return
        any_id = None if wanted.registry is None else 0
        found = self._tool.check(_check_of(wanted, any_id)).file
        if found is not None and found.bytes > wanted.most_bytes:
            form = {"json": "JSON", "avro": "Avro"}.get(wanted.encoding, "rows") + (" with keys" if wanted.key else "")
            raise BadInputError(
                f"{wanted.file}: {found.bytes / _GIB:.2f} GiB as {form}, above "
                f"CEILING_GIB={wanted.most_bytes / _GIB:g}; raise the ceiling"
            )

    def _require_same_partitions(self, known: BegunIngestion, wanted: FileToSend) -> None:
        """Refuse another number of partitions: a resumed run would look in the wrong ones and send rows twice."""
        found = self._partitions_of(known.topic)
        _require_as_asked(wanted, found)
        if found != (known.partitions or found):
            raise BadInputError(
                f"topic {known.topic}: has {found} partitions, but had {known.partitions} when {known.file} was begun; "
                f"use another topic, or {self._restart_advice(known)}"
            )

    def _partitions_of(self, topic: str) -> int:
        """Return a topic's number of partitions; 0 if it does not exist."""
        try:
            return len(self._cluster.topic_health(topic).partitions)
        except ClusterError as error:
            if error.kafka_error != "UnknownTopicOrPartitionException":
                raise
            return 0

    def _max_message_bytes(self, topic: str) -> int | None:
        """Return the topic's batch size limit; None if this user may not ask."""
        found = self._topic_config(topic, _TOPICS_LIMIT)
        return None if found is None else int(found)

    def _topic_config(self, topic: str, name: str) -> str | None:
        """Return a setting of the topic; None if this user may not ask."""
        try:
            return self._cluster.topic_configs(topic, [name]).get(name)
        except ClusterError as error:
            if "Authorization" not in error.kafka_error:
                raise
            return None

    def _wait_until_settled(self, known: BegunIngestion) -> None:
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


def properties_of(begun: BegunIngestion, most_mib_s: float = 0.0) -> dict[str, PropertyValue]:
    """Return the producer's properties, with batches and rows within the topic's limit.

    With a rate limit the buffer holds one second's data, because the whole buffer is sent in a burst after a pause.
    """
    found, stated = dict(PROPERTIES), {**DEFAULTS, **PROPERTIES}
    if most_mib_s:
        found["buffer.memory"] = min(max(int(most_mib_s * _MIB), _LEAST_BUFFER_BYTES), int(stated["buffer.memory"]))
    if begun.max_message_bytes is not None:
        most = begun.max_message_bytes - min(_CODEC_BYTES, begun.max_message_bytes // 2)
        found |= {name: min(int(stated[name]), most) for name in _LIMITED}
    return found


def _check_of(wanted: FileToSend, schema_id: int | None = None) -> CheckRequest:
    return CheckRequest(
        _LONGEST_S,
        file=wanted.file,
        delimiter=wanted.delimiter,
        encoding=wanted.encoding,
        key=wanted.key,
        schema=wanted.schema,
        schema_id=schema_id,
    )


def _require_as_asked(wanted: FileToSend, found: int) -> None:
    if found and wanted.partitions not in (None, found):
        raise BadInputError(f"topic {wanted.topic}: has {found} partitions; expected PARTITIONS={wanted.partitions}")
