"""Declare the quantities of an ingestion: each once, from the load tool's parser to the tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from kafka_pareto.bottleneck.load_counters import LoadCounters
from kafka_pareto.study.quantity import Quantities, Shown, quantities_of


@dataclass(frozen=True)
class IngestionFigures:
    """Holds how fast the rows of a file came to a topic, and what that took.

    Time runs from the first read of the file to the last acknowledgement, of all processes together. The start of their
    JVMs stands beside. None: the tool does not say.

    Attributes:
        rows_s: Acknowledged rows in each second.
        cold_rows_s: The same of the warm-up, the first rows that a new process sends.
        late_over_early: Rows/s in the second half of the time over those in the first: 1 of a rate that has settled.
        values_mib_s: The values of the acknowledged rows, as they were encoded.
        wire_mib_s: What went over the connections, requests and headers included.
        reading_cpu_s: CPU time of the threads that read the file.
        client_cpu_s_per_million_rows: CPU time of the processes while they sent, compilation and collection included.
        broker_cpu_s_per_million_rows: CPU time of the brokers while they sent.
        allocated_bytes_per_row: What the client's threads allocated on the heap; None of thread pools below Java 21.
        collection_s: Time that its garbage collections took.
        compilation_s: Time that its compilers took, beside the work or in its way.
        batch_bytes: An average batch as it was sent.
        compression_ratio: Its size over the size of its records.
        send_blocked_s: How long sending threads waited for room.
    """

    elapsed_s: Annotated[float, Shown("time for the file", maximised=False)]
    rows_s: Annotated[float, Shown("rows", maximised=True)]
    cold_rows_s: Annotated[float | None, Shown("rows, cold", maximised=True)] = None
    late_over_early: float | None = None
    values_mib_s: Annotated[float | None, Shown("values", maximised=True)] = None
    wire_mib_s: float | None = None
    jvm_start_s: Annotated[float | None, Shown("start of the JVM", maximised=False)] = None
    reading_cpu_s: float | None = None
    client_cpu_s_per_million_rows: Annotated[float | None, Shown("client CPU", maximised=False)] = None
    broker_cpu_s_per_million_rows: Annotated[float | None, Shown("broker CPU", maximised=False)] = None
    allocated_bytes_per_row: Annotated[float | None, Shown("allocated for a row", maximised=False)] = None
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
        rows_in_file: As many as the file has, malformed ones not among them.
        rows_read: By the tool, malformed ones among them.
        rows_acknowledged: By its count.
        rows_malformed: Lines that went to the topic of malformed rows.
        end_offset_growth: Records by which the topic has grown, those of a warm-up in the same topic left out.
        rows_read_back: Records that the topic held afterwards, read one by one.
        read_back: Whether these were the file's rows, each as often as there, by two hashes of each; `not_read` where
            the tool sends rows of its own choice.
        figures: None where nothing was sent.
        generator_bound: Why what reads the file set the pace; empty where Kafka did.
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
