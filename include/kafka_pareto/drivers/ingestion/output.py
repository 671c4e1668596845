"""Read what the project's ingestion and its check print, and refuse what does not add up."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, FiniteFloat, model_validator

from kafka_pareto.drivers.common.load_tool import Amount, Count, ToolOutput, read_last_line


class Sink(ToolOutput):
    """Holds how one producer has sent its rows."""

    sent_bytes: Amount
    requests: Amount
    batch_bytes: Amount
    compression_ratio: Amount
    records_per_request: Amount
    blocked_s: Amount
    retries: Amount
    throttle_max_ms: Amount


class IngestionOutput(ToolOutput):
    """Holds what the tool prints.

    Attributes:
        is_file_at_fault: True if more of its lines are malformed than is tolerated: the failure says so.
        rows_acknowledged: Twice where a leader has lost rows, which were sent again.
        resumptions: How often a resumable ingestion read the ends of the partitions anew, after rows were lost.
        allocated_bytes: None where the threads that allocated had ended, and this Java counts living ones alone.
        partitions: The rows acknowledged of each.
        rows_s_by_slice: How many were acknowledged per second, in each `slice_s` but the last, shorter one.
        warmup: What the process sent before; None where it sent nothing.
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
            raise ValueError("the partitions must hold as many rows as were acknowledged")
        if sum(self.malformed.values()) != self.rows_malformed:
            raise ValueError("each malformed row has one reason")
        if self.failure is None and self.rows_acknowledged + self.rows_malformed != self.rows_read:
            raise ValueError("rows acknowledged and malformed must be as many as were read")
        return self


class RowsFound(ToolOutput):
    """Holds how many rows a file or a topic has, and two sums of hashes of all of them, whatever their order.

    Blank lines are no rows, and not malformed.
    """

    rows: Count
    hash: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    malformed: Count = 0
    blank_lines: Count = 0
    partitions: list[Count] = Field(default_factory=list)


class CheckOutput(ToolOutput):
    """Holds what the check prints of a file and of a topic, whichever it was asked for."""

    file: RowsFound | None = None
    topic: RowsFound | None = None


def parse_ingestion_output(text: str) -> IngestionOutput:
    """Read the last line of the tool's standard output.

    Raises:
        LoadToolError: If it is not the tool's JSON, or its numbers do not add up.
    """
    return read_last_line(text, IngestionOutput, "the ingestion")


def parse_check_output(text: str) -> CheckOutput:
    """Read the last line of the check's standard output.

    Raises:
        LoadToolError: If it is not the check's JSON.
    """
    return read_last_line(text, CheckOutput, "the ingestion's check")
