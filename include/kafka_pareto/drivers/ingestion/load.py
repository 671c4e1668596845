"""Run the project's ingestion, `io.kafkapareto.ingest.Ingestion`, and the check that reads back its records."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, TypeVar

from kafka_pareto.drivers.common.jvm_process import LoadProcess
from kafka_pareto.drivers.common.load_tool import read_last_line
from kafka_pareto.drivers.ingestion.output import CheckOutput, IngestionOutput
from kafka_pareto.kafka.known_properties import DEFAULTS, PropertyValue
from kafka_pareto.settings import Settings

MAIN_CLASS = "io.kafkapareto.ingest.Ingestion"
CHECK_CLASS = "io.kafkapareto.ingest.IngestionCheck"
BOOKS_CLASS = "io.kafkapareto.ingest.BooksFile"

_MIB = 1 << 20
_CHECK_HEAP_MIB = 512
_BESIDE_BUFFERS_MIB = 384
_Output = TypeVar("_Output")
_BESIDE_ROW_BYTES = 128  # per request: the headers of batch and record, and the row's offset


def most_row_bytes(properties: Mapping[str, PropertyValue]) -> int:
    """Return the size of the largest row a producer with these properties can send; larger ones are malformed."""
    found = {**DEFAULTS, **properties}
    return min(int(found["max.request.size"]), int(found["buffer.memory"])) - _BESIDE_ROW_BYTES


MOST_ROW_BYTES = most_row_bytes({})
"""The largest row with the client's defaults."""


@dataclass(frozen=True)
class IngestionRequest:
    """One ingestion: a file, a topic, and the method.

    Attributes:
        senders: Threads that check, encode and send rows, such as `fork_join_4`.
        path: `producer` for the client's `send()`, `batches` for record batches built from the rows.
        producers: Per process; each sends a range of the file, as does each process.
        is_resumable: Keep each row's position in its record, and send only what the topic lacks.
        key: Columns of the record's key, separated by commas; empty for none.
        schema: A file with an Avro or a JSON schema of the values; None for types from the first row.
        schema_id: The Avro schema's ID in a registry, which precedes each value; None without one.
        most_mib_s: Read limit per second; 0 for none.
        warmup_file: Sent first by each process to `warmup_topic`; None for no warm-up.
        meeting: An empty folder where several processes wait for each other before they begin.
        from_offsets: By partition, from which on the topic's records are this ingestion's; all of them if empty.
        malformed_from_offset: The same of the dead-letter topic.
        timeout_key: The study's key that sets `timeout_s`; empty if that is fixed.
    """

    file: Path
    topic: str
    properties: Mapping[str, PropertyValue]
    timeout_s: float
    delimiter: str = ","
    reader: str = "mapped"
    encoding: str = "bytes"
    senders: str = "sequential"
    path: str = "producer"
    producers: int = 1
    processes: int = 1
    process: int = 0
    is_resumable: bool = False
    key: str = ""
    schema: Path | None = None
    schema_id: int | None = None
    tolerated_fraction: float = 0.001
    most_mib_s: float = 0.0
    warmup_file: Path | None = None
    warmup_topic: str = ""
    meeting: Path | None = None
    from_offsets: tuple[int, ...] = ()
    malformed_from_offset: int = 0
    timeout_key: str = "protocol.timeout_s"

    @property
    def client_properties(self) -> Mapping[str, Mapping[str, PropertyValue]]:
        """Return the properties of the producers."""
        return {"--command-config": self.properties}

    @property
    def heap_mib(self) -> int:
        """Return the heap the producers need, in MiB."""
        buffer_mib = int({**DEFAULTS, **self.properties}["buffer.memory"]) // _MIB
        return _BESIDE_BUFFERS_MIB + 2 * self.producers * buffer_mib

    @property
    def options(self) -> list[str]:
        """List the tool's own options, without its file of properties."""
        options = ["--file", str(self.file), "--topic", self.topic, "--delimiter", self.delimiter]
        options += ["--reader", self.reader, "--encoding", self.encoding, "--senders", self.senders]
        options += ["--path", self.path, "--producers", str(self.producers), "--processes", str(self.processes)]
        options += ["--process", str(self.process), "--tolerated-fraction", str(self.tolerated_fraction)]
        options += ["--most-row-bytes", str(most_row_bytes(self.properties))]
        options += ["--max-mib-s", str(self.most_mib_s), *(["--resumable"] if self.is_resumable else [])]
        options += _form_options(self)
        options += ["--meeting", str(self.meeting)] if self.meeting else []
        options += ["--from-offsets", _listed(self.from_offsets)] if self.from_offsets else []
        options += ["--malformed-from-offset", str(self.malformed_from_offset)]
        if self.warmup_file:
            options += ["--warmup-file", str(self.warmup_file), "--warmup-topic", self.warmup_topic]
        return options


@dataclass(frozen=True)
class CheckRequest:
    """A request to the check: a file, a topic, or both.

    Attributes:
        key: Columns of the record's key, separated by commas; empty to ignore keys.
        schema: As in the request to the sender, like `schema_id`.
        most_row_bytes: As `most_row_bytes` computes it for the sender.
        opens_only: Read only the file's first rows, without a result.
        most_mib_s: Read limit for the topic per second; 0 for none.
        from_offsets: By partition, from which on the topic is read; all of it if empty.
        timeout_key: As in the request to the sender.
    """

    timeout_s: float
    file: Path | None = None
    topic: str = ""
    delimiter: str = ","
    encoding: str = "bytes"
    key: str = ""
    schema: Path | None = None
    schema_id: int | None = None
    most_row_bytes: int = MOST_ROW_BYTES
    opens_only: bool = False
    most_mib_s: float = 0.0
    from_offsets: tuple[int, ...] = ()
    timeout_key: str = "protocol.timeout_s"
    heap_mib: int = _CHECK_HEAP_MIB
    client_properties: Mapping[str, Mapping[str, PropertyValue]] = field(
        default_factory=lambda: {"--command-config": {}}
    )

    @property
    def options(self) -> list[str]:
        """List the check's own options."""
        options = ["--delimiter", self.delimiter, "--encoding", self.encoding]
        options += ["--most-row-bytes", str(self.most_row_bytes), "--max-mib-s", str(self.most_mib_s)]
        options += _form_options(self)
        options += ["--open-only"] if self.opens_only else []
        options += ["--from-offsets", _listed(self.from_offsets)] if self.from_offsets else []
        options += ["--file", str(self.file)] if self.file else []
        return options + (["--topic", self.topic] if self.topic else [])


@dataclass(frozen=True)
class BooksRequest:
    """A file of made-up books."""

    file: Path
    rows: int
    seed: int
    timeout_s: float
    timeout_key: str = ""
    heap_mib: int = 256
    client_properties: Mapping[str, Mapping[str, PropertyValue]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Printed(Generic[_Output]):
    output: _Output
    errors: str


class IngestionLoad:
    """Run ingestions and checks, each in its own JVM."""

    def __init__(self, bootstrap_servers: str, client_config: Path | None, settings: Settings) -> None:
        self.bootstrap_servers = bootstrap_servers
        self._process = LoadProcess(bootstrap_servers, client_config, settings)

    def run(self, requests: Sequence[IngestionRequest]) -> list[IngestionOutput]:
        """Execute the requests in parallel, one per process; none begins before all are ready.

        Raises:
            LoadToolError: If a process does not start, fails, times out, or prints inconsistent output. Unsent rows are
                not an error: the result reports them.
        """
        if len(requests) == 1:
            return [self.follow(requests[0])]
        with (
            tempfile.TemporaryDirectory(prefix="kafka-pareto-meeting-") as meeting,
            ThreadPoolExecutor(len(requests)) as threads,
        ):
            return list(threads.map(lambda each: self.follow(replace(each, meeting=Path(meeting))), requests))

    def follow(
        self,
        request: IngestionRequest,
        follow: Callable[[str], None] | None = None,
        watch: Callable[[], None] | None = None,
    ) -> IngestionOutput:
        """Execute one request; `follow` receives a line of JSON on its progress every second, and `watch` may end it.

        Raises:
            LoadToolError: As `run`.
        """
        output = self._process.run(
            MAIN_CLASS,
            request.options,
            request,
            watch,
            lambda ended: _Printed(read_last_line(ended.output, IngestionOutput, "the ingestion"), ended.complaint),
            follow,
        ).output
        if output.failure is None:
            return output
        return output.model_copy(update={"failure": self._process.without_secrets(output.failure)})

    def check(self, request: CheckRequest, watch: Callable[[], None] | None = None) -> CheckOutput:
        """Read a file, a topic, or both, and return their content; `watch` may end it.

        Raises:
            LoadToolError: If one cannot be read.
        """
        return self._process.run(
            CHECK_CLASS,
            request.options,
            request,
            watch,
            lambda ended: _Printed(read_last_line(ended.output, CheckOutput, "the ingestion's check"), ended.complaint),
        ).output

    def make_books(self, request: BooksRequest) -> None:
        """Write the file atomically.

        Raises:
            LoadToolError: If it cannot be written.
        """
        options = ["--file", str(request.file), "--rows", str(request.rows), "--seed", str(request.seed)]
        self._process.run(BOOKS_CLASS, options, request, None, lambda ended: _Printed(None, ended.complaint))


def _form_options(request: IngestionRequest | CheckRequest) -> list[str]:
    """List the options on keys and values."""
    options = [f"--key={request.key}"] if request.key else []
    options += ["--schema", str(request.schema)] if request.schema else []
    return options + (["--schema-id", str(request.schema_id)] if request.schema_id is not None else [])


def _listed(offsets: Sequence[int]) -> str:
    return ",".join(map(str, offsets))
