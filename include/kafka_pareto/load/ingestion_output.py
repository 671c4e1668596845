"""Reads what the project's ingestion and its check print, and refuses what does not add up."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from kafka_pareto.load.last_line import read_last_line

_Amount = Annotated[FiniteFloat, Field(ge=0)]
_Count = Annotated[int, Field(ge=0)]


class _Output(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Sink(_Output):
    """Holds how one producer has sent its rows."""

    sent_bytes: _Amount
    requests: _Amount
    batch_bytes: _Amount
    compression_ratio: _Amount
    records_per_request: _Amount
    blocked_s: _Amount
    retries: _Amount
    throttle_max_ms: _Amount


class IngestionOutput(_Output):
    """Holds what the tool prints; `partitions` are the rows acknowledged of each."""

    failure: str | None
    rows_read: _Count
    rows_skipped: _Count
    rows_acknowledged: _Count
    rows_malformed: _Count
    bytes_acknowledged: _Count
    malformed: dict[str, Annotated[int, Field(gt=0)]]
    first_malformed: str
    began_at_s: FiniteFloat
    ended_at_s: FiniteFloat
    elapsed_s: _Amount
    jvm_start_s: FiniteFloat
    cpu_s: _Amount
    allocated_bytes: int
    collections: _Count
    collection_s: _Amount
    compilation_s: _Amount
    reading_cpu_s: _Amount
    partitions: Annotated[list[_Count], Field(min_length=1)]
    sinks: Annotated[list[Sink], Field(min_length=1)]

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if sum(self.partitions) != self.rows_acknowledged:
            raise ValueError("the partitions must hold as many rows as were acknowledged")
        if sum(self.malformed.values()) != self.rows_malformed:
            raise ValueError("each malformed row has one reason")
        if self.failure is None and self.rows_acknowledged + self.rows_malformed != self.rows_read:
            raise ValueError("rows acknowledged and malformed must be as many as were read")
        return self


class RowsFound(_Output):
    """Holds how many rows a file or a topic has, and two sums of hashes of all of them, whatever their order."""

    rows: _Count
    hash: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    malformed: _Count = 0
    partitions: list[_Count] = Field(default_factory=list)


class CheckOutput(_Output):
    """Holds what the check prints of a file and of a topic, whichever it was asked for."""

    file: RowsFound | None = None
    topic: RowsFound | None = None


def parse_ingestion_output(text: str) -> IngestionOutput:
    """Reads the last line of the tool's standard output.

    Raises:
        LoadToolError: If it is not the tool's JSON, or its numbers do not add up.
    """
    return read_last_line(text, IngestionOutput, "the ingestion")


def parse_check_output(text: str) -> CheckOutput:
    """Reads the last line of the check's standard output.

    Raises:
        LoadToolError: If it is not the check's JSON.
    """
    return read_last_line(text, CheckOutput, "the ingestion's check")
