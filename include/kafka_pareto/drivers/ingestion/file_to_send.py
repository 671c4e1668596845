"""A user's file, the topic for its rows, and their form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from kafka_pareto.drivers.ingestion.schema_registry import SchemaRegistry
from kafka_pareto.errors import BadInputError


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
