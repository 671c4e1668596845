"""Declare the quantities of an ingestion, each once, from the load generator's parser to the tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from kafka_pareto.bottleneck.load_counters import LoadCounters
from kafka_pareto.study.quantity import Quantities, Shown, quantities_of


@dataclass(frozen=True)
class IngestionFigures:
    """The rate and cost of an ingestion; None for what the tool does not report.

    Time runs from the first read of the file to the last acknowledgement, over all processes. Their JVM start is
    separate.

    Attributes:
        rows_s: Acknowledged rows per second.
        cold_rows_s: The same for the warm-up, the first rows of a new process.
        late_over_early: Rows/s in the second half of the time over those in the first; 1 for a settled rate.
        values_mib_s: The values of the acknowledged rows, as encoded.
        wire_mib_s: Sent over the connections, requests and headers included; `wire_bytes_per_row` likewise.
        reading_cpu_s: CPU time of the threads that read the file.
        client_cpu_s_per_million_rows: CPU time of the processes while sending, compilation and collection included.
        broker_cpu_s_per_million_rows: CPU time of the brokers meanwhile.
        allocated_bytes_per_row: Heap allocated by the client's threads; None for thread pools below Java 21.
        collection_s: Time spent in its garbage collections.
        compilation_s: Time spent by its compilers, in parallel to the work or not.
        batch_bytes: Mean size of a batch as sent.
        compression_ratio: Size of a batch as sent over the size of its records.
        send_blocked_s: How long sending threads waited for buffer space.
    """

    elapsed_s: Annotated[float, Shown("time for the file", maximised=False)]
    rows_s: Annotated[float, Shown("rows", maximised=True)]
    cold_rows_s: Annotated[float | None, Shown("rows, cold", maximised=True)] = None
    late_over_early: float | None = None
    values_mib_s: Annotated[float | None, Shown("values", maximised=True)] = None
    wire_mib_s: float | None = None
    wire_bytes_per_row: Annotated[float | None, Shown("sent per row", maximised=False)] = None
    jvm_start_s: Annotated[float | None, Shown("start of the JVM", maximised=False)] = None
    reading_cpu_s: float | None = None
    client_cpu_s_per_million_rows: Annotated[float | None, Shown("client CPU", maximised=False)] = None
    broker_cpu_s_per_million_rows: Annotated[float | None, Shown("broker CPU", maximised=False)] = None
    allocated_bytes_per_row: Annotated[float | None, Shown("allocated per row", maximised=False)] = None
    collections: int | None = None
    collection_s: Annotated[float | None, Shown("garbage collection", maximised=False)] = None
    compilation_s: float | None = None
    batch_bytes: Annotated[float | None, Shown("batch", maximised=True)] = None
    compression_ratio: float | None = None
    records_per_request: float | None = None
    requests: float | None = None
    send_blocked_s: Annotated[float | None, Shown("send() blocked", maximised=False)] = None
    retries: float | None = None
    produce_throttle_max_ms: float | None = None


@dataclass(frozen=True)
class IngestionQuantities(Quantities):
    """All quantities of one repetition of an ingestion.

    Attributes:
        rows_in_file: Without malformed ones.
        rows_read: By the tool, malformed ones included.
        rows_acknowledged: By its count.
        rows_malformed: Lines sent to the dead-letter topic.
        end_offset_growth: The topic's growth in records, without those of a warm-up in the same topic.
        rows_read_back: Records in the topic afterwards, read one by one.
        read_back: Whether these were the file's rows with the same multiplicity, by two hashes; `not_read` if the tool
            chooses its own rows.
        figures: None if nothing was sent.
        generator_bound: Why the file's reader was the bottleneck; empty if Kafka was.
        limited_by: A code of `bottleneck.limiting_resource`.
    """

    rows_in_file: int
    rows_read: int | None = None
    rows_acknowledged: int | None = None
    rows_malformed: int | None = None
    end_offset_growth: int | None = None
    rows_read_back: int | None = None
    read_back: Literal["equal", "different", "not_read"] = "not_read"
    figures: IngestionFigures | None = None
    generator_bound: str = ""
    counters: LoadCounters = LoadCounters()  # noqa: RUF009 (frozen)
    limited_by: str = ""


INGESTION_QUANTITIES = quantities_of(IngestionQuantities)
