"""Parse the output of the project's ingestion and its check, and refuse inconsistent numbers."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, FiniteFloat, model_validator

from kafka_pareto.drivers.common.load_tool import Amount, Count, ToolOutput


class Sink(ToolOutput):
    """The rows sent by one producer."""

    sent_bytes: Amount
    requests: Amount
    batch_bytes: Amount
    compression_ratio: Amount
    records_per_request: Amount
    blocked_s: Amount
    retries: Amount
    throttle_max_ms: Amount


class IngestionOutput(ToolOutput):
    """The ingestion's output.

    Attributes:
        is_file_at_fault: The run failed because more lines are malformed than tolerated.
        rows_acknowledged: Rows sent again after a leader lost them count twice.
        resumptions: How many times a resumable ingestion reread the partitions' ends after a loss of rows.
        allocated_bytes: None if the allocating threads have ended and this Java counts only live threads.
        partitions: Rows acknowledged per partition.
        rows_s_by_slice: Rate of acknowledgements, in each `slice_s` but the last, shorter one.
        warmup: The warm-up's output; None without one.
    """

    failure: str | None
    is_file_at_fault: bool
    rows_read: Count
    rows_skipped: Count
    rows_acknowledged: Count
    rows_malformed: Count
    resumptions: Count
    bytes_acknowledged: Count
    malformed: dict[str, Annotated[int, Field(gt=0)]]
    first_malformed: str
    began_at_s: FiniteFloat
    ended_at_s: FiniteFloat
    elapsed_s: Amount
    jvm_start_s: FiniteFloat
    cpu_s: Amount
    allocated_bytes: int | None
    collections: Count
    collection_s: Amount
    compilation_s: Amount
    reading_cpu_s: Amount
    partitions: Annotated[list[Count], Field(min_length=1)]
    sinks: Annotated[list[Sink], Field(min_length=1)]
    slice_s: Annotated[float, Field(gt=0)]
    rows_s_by_slice: list[Amount]
    warmup: IngestionOutput | None = None

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if sum(self.partitions) != self.rows_acknowledged:
            raise ValueError("the partitions' row counts must add up to the acknowledged rows")
        if sum(self.malformed.values()) != self.rows_malformed:
            raise ValueError("the counts of malformed rows by reason must add up to their number")
        if self.failure is None and self.rows_acknowledged + self.rows_malformed != self.rows_read:
            raise ValueError("acknowledged and malformed rows must add up to the rows read")
        return self


class RowsFound(ToolOutput):
    """The number of rows in a file or a topic, and two order-independent sums of their hashes.

    `bytes` counts values and the user's keys. Blank lines are neither rows nor malformed.
    """

    rows: Count
    bytes: Count = 0
    hash: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    malformed: Count = 0
    blank_lines: Count = 0
    partitions: list[Count] = Field(default_factory=list)


class CheckOutput(ToolOutput):
    """The check's output for a file and a topic, as requested.

    Attributes:
        avro_schema: The schema of the file's values; None for other encodings.
    """

    avro_schema: str | None = None
    file: RowsFound | None = None
    topic: RowsFound | None = None
