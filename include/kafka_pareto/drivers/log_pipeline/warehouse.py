"""Command line of the warehouse, its table, and its record of batches."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kafka_pareto.brokers.nodes import LOOPBACK
from kafka_pareto.drivers.log_pipeline.growing_file import GrowingFile
from kafka_pareto.drivers.log_pipeline.stages import STAMPS
from kafka_pareto.drivers.log_pipeline.web_parts import PROGRAMS, environment
from kafka_pareto.errors import ArtifactError

_OF_AN_EVENT = ("request_id", *STAMPS[1:-1])


class Batch(NamedTuple):
    """A committed batch; it began at `t6_ms` and was committed at `t7_ms`, in milliseconds since 1970."""

    rows: int
    t6_ms: int
    t7_ms: int


@dataclass(frozen=True)
class Warehouse:
    """Spark, loading a topic into a Hive table, both in a folder.

    SIGTERM to the process alone, not its group, ends it after the running batch; then it exports the table. Its JVM
    ends with it, a moment later if it is killed.

    Attributes:
        python: Of the environment with PySpark.
        jars: Folder of Spark's Kafka connector.
        trigger_ms: Interval between batches; 0 starts the next one immediately.
        planted_delay_ms: Delay of each batch, for tests: before its start or before its commit is reported
            (`planted_at`).
    """

    folder: Path
    python: Path
    jars: Path
    bootstrap_servers: str
    topic: str
    trigger_ms: int = 0
    planted_delay_ms: int = 0
    planted_at: str = "batch"

    @property
    def batches_file(self) -> Path:
        """Return the path of the record of batches."""
        return self.folder / "batches.jsonl"

    @property
    def export_file(self) -> Path:
        """Return the path of the table as Parquet, written at the end."""
        return self.folder / "logs.parquet"

    def exported_rows(self) -> pd.DataFrame:
        """Return the exported table.

        Raises:
            ArtifactError: If it cannot be read.
        """
        return _rows_in(self.export_file)

    def committed_rows(self, batches: Iterable[int]) -> pd.DataFrame:
        """Return the rows of committed batches, from the table's partitions; Spark may be running.

        Raises:
            ArtifactError: If a file cannot be read.
        """
        table = self.folder / "warehouse" / "logs"
        rows = [
            _rows_in(file, _OF_AN_EVENT).assign(batch_id=number)
            for number in batches
            for file in (table / f"batch_id={number}").glob("*.parquet")
        ]
        return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=[*_OF_AN_EVENT, "batch_id"])

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of its commands."""
        return environment(PYTHONPATH=str(PROGRAMS), PYSPARK_PYTHON=str(self.python), SPARK_LOCAL_IP=LOOPBACK)

    @property
    def argv(self) -> list[str]:
        """Return the command that loads until SIGTERM."""
        return [
            *(str(self.python), "-m", "warehouse.to_hive", "--folder", str(self.folder), "--jars", str(self.jars)),
            *("--bootstrap-servers", self.bootstrap_servers, "--topic", self.topic),
            *("--trigger-ms", str(self.trigger_ms)),
            *("--planted-delay-ms", str(self.planted_delay_ms), "--planted-at", self.planted_at),
        ]


def read_batches(file: GrowingFile) -> dict[int, Batch]:
    """Read the record of batches by ID; the last line of each counts, since a kill may repeat a batch.

    Lines before the file's window are skipped, as is an unterminated last line, which is still being written.

    Raises:
        ArtifactError: If a line is malformed.
    """
    found: dict[int, Batch] = {}
    for number, line in enumerate(file.text().splitlines(), start=1):
        try:
            record = json.loads(line)
            found[int(record["batch_id"])] = Batch(int(record["rows"]), int(record["t6"]), int(record["t7"]))
        except (ValueError, KeyError, TypeError) as error:
            raise ArtifactError(
                f"{file.path}: line {number} after byte {file.from_byte}: is not a batch record: {line[:80]}"
            ) from error
    return found


def _rows_in(file: Path, columns: Sequence[str] | None = None) -> pd.DataFrame:
    try:
        # Arrow's threads abort processes that end while they run.
        with pq.ParquetFile(file, pre_buffer=False) as opened:
            rows: pd.DataFrame = opened.read(columns, use_threads=False).to_pandas()
            return rows
    except (OSError, pa.ArrowException) as error:
        raise ArtifactError(f"{file}: Hive's table cannot be read: {error}") from error
