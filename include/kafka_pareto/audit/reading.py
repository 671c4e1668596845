"""Read the latest batches of topics, by a Java program that uses Kafka's own classes."""

from __future__ import annotations

import json
import math
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias, cast

from pydantic import Field

from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.client_properties import hidden, read_client_config, secrets_in
from kafka_pareto.kafka.java import java_environment, require_java, tethered
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.settings import Settings
from kafka_pareto.storage.record import Frozen
from kafka_pareto.study.options import plain
from kafka_pareto.study.requests import ReadRequest

_MAIN_CLASS = "io.kafkapareto.audit.TopicAudit"
_LONGEST_REASON = 1000
_GRACE_S = 5.0
_JAVA_PREFIXES = re.compile(
    r'Exception in thread "main" |java\.util\.concurrent\.ExecutionException: |([a-z0-9]+\.)+(?=[A-Z])'
)


Client: TypeAlias = Literal["java", "librdkafka"]


class Quantiles(Frozen):
    """Median, 95th percentile and maximum."""

    p50: int
    p95: int
    largest: int


class Sizes(Frozen):
    """Sizes of the sampled records and batches, in bytes, and the number of records in a batch."""

    key_bytes: Quantiles
    value_bytes: Quantiles
    header_bytes: Quantiles
    batch_bytes: Quantiles
    batch_records: Quantiles


class Producer(Frozen):
    """The batches of one producer, the last of which has the time `last_ms` (since 1970).

    Those without idempotence count as one, with neither ID nor epoch.
    """

    id: int | None
    epoch: int | None
    is_transactional: bool
    codecs: tuple[str, ...]
    batches: int
    records: int
    bytes: int
    last_ms: int


class Trial(Frozen):
    """Sampled records, compressed.

    Attributes:
        batch_bytes: Size of a batch before compression; 0 for batches as stored.
        uncompressed_bytes: Size without compression.
        cpu_ns_per_byte: CPU time of the compression per uncompressed byte.
    """

    codec: str
    batch_bytes: int
    uncompressed_bytes: int
    bytes: int
    cpu_ns_per_byte: float


class SentBatch(Frozen):
    """A batch: the time of its last record (ms since 1970), its records, and its size in bytes."""

    last_ms: int
    records: int
    bytes: int


class Sent(Frozen):
    """The batches and requests of a topic's producers under some settings.

    `batches_of_producers` counts the batches of each of the replay's `producers`.
    """

    requests: int
    batches_of_producers: tuple[int, ...]
    batches: tuple[SentBatch, ...]


class Replay(Frozen):
    """The sampled records, sent again to Kafka's own accumulator.

    Attributes:
        fault: Why the batches do not show what producers did; empty if they do.
        has_event_times: Whether the records' times are not those of sending.
        client: The client whose way of filling batches explains the stored ones best.
        settings: The settings that explain the stored batches best.
        producers: The producers' IDs.
        stored: The batches as stored.
        sent: The batches under these settings, and then under each of the requested ones.
    """

    fault: str
    has_event_times: bool = False
    client: Client = "java"
    settings: dict[str, PropertyValue] = Field(default_factory=dict)
    producers: tuple[int, ...] = ()
    stored: tuple[SentBatch, ...] = ()
    sent: tuple[Sent, ...] = ()


class Sample(Frozen):
    """A topic's latest records.

    Attributes:
        stored_bytes: Size of the batches, compressed.
        payload_bytes: Keys, values and headers before compression.
        keyed: Records with a key.
        first_ms: Time of the oldest record, in milliseconds since 1970.
        late: Records older than one before them in their partition, the most by `late_by_ms`.
        records_day: Records of the last 24 hours, by their times; None if older ones are gone.
    """

    records: int
    batches: int
    stored_bytes: int
    payload_bytes: int
    keyed: int
    first_ms: int
    last_ms: int
    late: int
    late_by_ms: int
    records_day: int | None
    sizes: Sizes
    codecs: dict[str, int]
    records_of_partition: dict[int, int]
    producer_count: int
    producers: tuple[Producer, ...]
    trials: tuple[Trial, ...]
    replay: Replay


class Topic(Frozen):
    """A topic.

    Attributes:
        compression_type: The topic's setting; None without the permission to see it, like the next three.
        retention_ms: -1 if records are kept forever.
        read_bytes: What was read of it.
        is_cut: Whether reading stopped at the limit of bytes or seconds.
        sample: None if it has no records.
    """

    topic: str
    partitions: int
    replicas: int
    compression_type: str | None
    timestamp_type: str | None
    min_insync_replicas: int | None
    retention_ms: int | None
    read_bytes: int
    is_cut: bool
    sample: Sample | None


class Unread(Frozen):
    """A topic that could not be read, and Kafka's reason."""

    topic: str
    error: str


class Limits(Frozen):
    """Limits of what is read of a topic."""

    records: int
    bytes: int
    seconds: float

    @classmethod
    def of(cls, request: ReadRequest) -> Limits:
        """Return the limits that a user asks for."""
        return cls(records=request.records, bytes=math.ceil(request.read_mib * 2**20), seconds=request.seconds)


class TopicReader:
    """A run of the program: iterate over the topics, in alphabetical order or as named, `history` samples of each.

    Args:
        bootstrap_servers: `host:port,…`
        client_config: A Java `client.properties`; None for a plaintext cluster.
        topics: All that the user may describe if empty, except Kafka's own.
        what_if: Producer settings; what a set omits stays as the topic's producers have it.
        sample_file: Filled with the last topic's sampled records; None to keep none.
        history: Samples of a topic, each at the end of an equal part of the time of its records.

    Raises:
        BadInputError: If the client configuration cannot be read, or Java is missing.
        ClusterError: If the cluster cannot be reached, or the program ends unexpectedly.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        client_config: Path | None,
        topics: Sequence[str],
        limits: Limits,
        what_if: Sequence[Mapping[str, PropertyValue]],
        settings: Settings,
        sample_file: Path | None = None,
        history: int = 1,
    ) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._settings = settings
        self._secrets = secrets_in(read_client_config(client_config)) if client_config else []
        require_java(settings.java)
        self._request = {
            "bootstrap_servers": bootstrap_servers,
            "client_config": str(client_config.absolute()) if client_config else None,
            "topics": list(topics),
            "what_if": [dict(each) for each in what_if],
            "sample_file": str(sample_file.absolute()) if sample_file else None,
            "history": history,
            **limits.model_dump(),
        }
        self.topics: list[str] = []
        """The names of all topics, known before the first is read."""

    def __iter__(self) -> Iterator[Topic | Unread]:
        options = ["-Xmx768m", "-XX:+ErrorFileToStderr"]
        argv = [self._settings.java, *options, "-cp", f"{self._settings.kafka_jars}/*", _MAIN_CLASS]
        with (
            tempfile.TemporaryFile() as log,
            subprocess.Popen(
                tethered(argv), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=java_environment()
            ) as process,
        ):
            stdin, stdout = cast(IO[bytes], process.stdin), cast(IO[bytes], process.stdout)
            try:
                with suppress(BrokenPipeError):  # the process has ended, and its output says why
                    stdin.write(json.dumps(self._request).encode())
                    stdin.close()
                answers = (self._answer(line, process, log) for line in stdout)
                self.topics = next(answers, {"topics": []})["topics"]
                for answer in answers:
                    if "error" in answer:
                        yield Unread(topic=answer["topic"], error=plain(hidden(answer["error"], self._secrets)))
                    else:
                        yield Topic.model_validate(answer)
                if process.wait():
                    raise self._failure(process, log)
            finally:
                process.kill()

    def _answer(self, line: bytes, process: subprocess.Popen[bytes], log: IO[bytes]) -> Any:
        try:
            return json.loads(line)
        except ValueError as error:  # the JVM's report of a crash, or half an answer
            raise self._failure(process, log, line) from error

    def _failure(self, process: subprocess.Popen[bytes], log: IO[bytes], printed: bytes = b"") -> ClusterError:
        """Return the reason of Java's exception, else how the process ended; `printed` is no answer."""
        try:
            status = process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            status = process.wait()
        log.seek(0)
        said = log.read()
        thrown = [line for line in said.splitlines() if b"Exception" in line or b"Error" in line]
        if status > 0 and thrown and not printed:
            reason = _JAVA_PREFIXES.sub("", _one_line(thrown[0]))
            fix = "check the addresses, and whether the cluster needs a client.properties (KAFKA_CONFIG)"
        else:
            if printed:
                said = b"" if printed.startswith(b"{") else printed + cast(IO[bytes], process.stdout).read()
            reason = f"the audit's process ended with status {status}{': ' if said else ''}{_one_line(said)}"
            fix = "check that enough memory is free"
        return ClusterError(hidden(f"Kafka cluster {self._bootstrap_servers}: {reason}; {fix}", self._secrets))


def _one_line(text: bytes) -> str:
    return " ".join(text.decode(errors="replace").split())[:_LONGEST_REASON]
