"""Send a user's file to a topic, resumable after an interruption."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from kafka_pareto.analysis.wording import counted
from kafka_pareto.drivers.ingestion.begun_ingestions import BegunIngestion, BegunIngestions, file_digest
from kafka_pareto.drivers.ingestion.file_to_send import FileToSend
from kafka_pareto.drivers.ingestion.load import CheckRequest, IngestionLoad, IngestionRequest, most_row_bytes
from kafka_pareto.drivers.ingestion.output import CheckOutput, IngestionOutput
from kafka_pareto.drivers.ingestion.topics import IngestionTopics, require_as_asked
from kafka_pareto.errors import BadInputError, LoadToolError
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
_LIMITED = ("batch.size", "max.request.size")
_MIB = 1 << 20
_GIB = 1 << 30
_LEAST_BUFFER_BYTES = 2 * _MIB  # above the largest row, so no rate limit makes a row too large
_CODEC_BYTES = 4096  # a codec's overhead on an incompressible batch
_LONGEST_S = 7 * 24 * 3600.0


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
        self._topics = IngestionTopics(cluster)

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
            found = self._topics.require_fitting(begun, wanted)
            if wanted.registry is not None and checked.avro_schema is not None:
                schema_id = wanted.registry.register(f"{wanted.topic}-value", checked.avro_schema)
                begun = begun.model_copy(update={"schema_id": schema_id})
            partitions = found or wanted.partitions or DEFAULT_PARTITIONS
            self._topics.make(begun, partitions, min(len(description.brokers), _MOST_REPLICAS))
            limit = self._topics.max_message_bytes(wanted.topic)
            begun = begun.model_copy(update={"partitions": partitions, "max_message_bytes": limit})
            if wanted.appends:
                begun = begun.model_copy(update=self._topics.ends(begun))
            self._begun.keep(begun)
            return begun
        if known.is_done:
            raise BadInputError(
                f"topic {wanted.topic}: already holds all rows of {known.file}; {self._restart_advice(known)}"
            )
        if not is_same:
            raise BadInputError(
                f"{wanted.file}: topic {wanted.topic} was begun with {known.file} of {known.bytes:,} bytes, but the "
                "file, DELIMITER, ENCODING, VALUES, SCHEMA, REGISTRY or KEY has changed since; resume with the "
                "original ones, or use another topic"
            )
        self._require_same_partitions(known, wanted)
        self._topics.wait_until_settled(known)
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
            timeout_key="",
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
                f"topic {begun.topic}: its {counted(rows, 'record')} differ from the rows of {wanted.file}: another "
                f"program sent records to it, or records were deleted; {self._restart_advice(begun)}"
            )
        sent = self._cluster.end_offset(begun.malformed_topic) - begun.malformed_from_offset
        if sent != held.file.malformed:
            raise BadInputError(
                f"topic {begun.malformed_topic}: received {counted(sent, 'record')}, but {wanted.file} has "
                f"{counted(held.file.malformed, 'malformed row')}: another program sent records to it; "
                f"{self._restart_advice(begun)}"
            )

    def _restart_advice(self, begun: BegunIngestion) -> str:
        """Return the ways to start again; topics with older records are not to be deleted."""
        if begun.from_offsets:
            return "use another topic"
        place = self._begun.place(begun.cluster_id, begun.topic)
        return (
            f"use another topic, or delete the topics {begun.topic} and {begun.malformed_topic} and the file {place}, "
            "and start again"
        )

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
        found = self._topics.partitions_of(known.topic)
        require_as_asked(wanted, found)
        if found != (known.partitions or found):
            raise BadInputError(
                f"topic {known.topic}: has {counted(found, 'partition')}, but had {known.partitions} when {known.file} "
                f"was begun; {self._restart_advice(known)}"
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
        timeout_key="",
        file=wanted.file,
        delimiter=wanted.delimiter,
        encoding=wanted.encoding,
        key=wanted.key,
        schema=wanted.schema,
        schema_id=schema_id,
    )
