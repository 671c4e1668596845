"""Sampled records: a topic's own, to be sent again. JSON Lines as `SampledRecords.java` reads and writes them."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Base64Bytes, BaseModel, ConfigDict, Field, ValidationError, model_validator

from kafka_pareto.study.identifiers import MOST_RECORD_SIZE_BYTES


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _WithValue(_Line):
    """A value as text, or in Base64 if it is not UTF-8; without both it is null."""

    value: str | None = None
    value_base64: Base64Bytes | None = None

    @model_validator(mode="after")
    def _value_once(self) -> Self:
        if self.value is not None and self.value_base64 is not None:
            raise ValueError("give one of value and value_base64")
        return self


class SampledHeader(_WithValue):
    """A header of a record."""

    name: str

    @property
    def size_bytes(self) -> int:
        """Return the size of name and value."""
        return len(self.name.encode()) + _size(self.value, self.value_base64)


class SampledRecord(_WithValue):
    """A record; its time is that of sending, in milliseconds since 1970."""

    timestamp_ms: Annotated[int, Field(ge=0)] = 0
    key: str | None = None
    key_base64: Base64Bytes | None = None
    headers: tuple[SampledHeader, ...] = ()

    @model_validator(mode="after")
    def _key_once(self) -> Self:
        if self.key is not None and self.key_base64 is not None:
            raise ValueError("give one of key and key_base64")
        return self

    @property
    def size_bytes(self) -> int:
        """Return the size of key, value and headers."""
        in_headers = sum(each.size_bytes for each in self.headers)
        return _size(self.key, self.key_base64) + _size(self.value, self.value_base64) + in_headers


def _size(text: str | None, other: bytes | None) -> int:
    return len(text.encode()) if text is not None else len(other or b"")


def mean_record_bytes(text: str) -> int:
    """Return the mean size of the records, keys and headers included, in bytes; rounded, and at least 1.

    Raises:
        ValueError: If a line is not a record that can be sent, or there is none.
    """
    lines = text.removesuffix("\n").split("\n") if text.strip() else []
    if not lines:
        raise ValueError("holds no records")
    total_bytes = 0
    for number, line in enumerate(lines, start=1):
        try:
            size_bytes = SampledRecord.model_validate_json(line).size_bytes
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(map(str, first["loc"]))
            rule = first["msg"].removeprefix("Value error, ")
            raise ValueError(f"line {number}: {key + ': ' if key else ''}{rule}") from error
        if size_bytes > MOST_RECORD_SIZE_BYTES:
            raise ValueError(f"line {number}: a record must not be larger than {MOST_RECORD_SIZE_BYTES} bytes")
        total_bytes += size_bytes
    return max(round(total_bytes / len(lines)), 1)
