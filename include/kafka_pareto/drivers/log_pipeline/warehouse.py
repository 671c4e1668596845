"""Command line of the warehouse, and its record of batches."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kafka_pareto.brokers.nodes import LOOPBACK
from kafka_pareto.drivers.log_pipeline.web_parts import PROGRAMS, environment
from kafka_pareto.errors import ArtifactError


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


def read_batches(file: Path) -> dict[int, Batch]:
    """Read the record of batches by ID; the last line of each counts, since a kill may repeat a batch.

    An unterminated last line is still being written and is skipped.

    Raises:
        ArtifactError: If a line is malformed.
    """
    found: dict[int, Batch] = {}
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    lines = text[: text.rfind("\n") + 1].splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
            found[int(record["batch_id"])] = Batch(int(record["rows"]), int(record["t6"]), int(record["t7"]))
        except (ValueError, KeyError, TypeError) as error:
            raise ArtifactError(f"{file}: line {number}: is not a batch record: {line[:80]}") from error
    return found
