"""Says how the warehouse is run, and reads what it tells. Nothing is started here."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from kafka_pareto.brokers.nodes import LOOPBACK
from kafka_pareto.drivers.log_pipeline.programs import environment
from kafka_pareto.drivers.log_pipeline.web_parts import PROGRAMS
from kafka_pareto.errors import ArtifactError

PlantedAt = Literal["batch", "commit"]


class Batch(NamedTuple):
    """Holds a batch that is in the table; `t6_ms` and `t7_ms`, when it began and was committed, are since 1970."""

    rows: int
    t6_ms: int
    t7_ms: int


@dataclass(frozen=True)
class Warehouse:
    """Is Spark that loads a topic into a Hive table, both in a folder.

    SIGTERM, to its process alone and not to its group, ends it after the running batch; then it exports the table. Its
    JVM ends with it, a moment later if it is killed.

    Args:
        folder: All that it writes.
        python: Of the environment that has PySpark.
        jars: The folder of what Spark needs to read Kafka.
        bootstrap_servers: Of the cluster.
        topic: The topic.
        trigger_ms: How often a batch begins; 0 for as soon as the last one is done.
        planted_delay_ms: Is waited in each batch, for tests.
        planted_at: Where: before a batch is said to begin, or before it is said to be committed.
    """

    folder: Path
    python: Path
    jars: Path
    bootstrap_servers: str
    topic: str
    trigger_ms: int = 0
    planted_delay_ms: int = 0
    planted_at: PlantedAt = "batch"

    @property
    def batches_file(self) -> Path:
        """Returns where it notes each batch."""
        return self.folder / "batches.jsonl"

    @property
    def export_file(self) -> Path:
        """Returns where the table is, as Parquet, once it has ended."""
        return self.folder / "logs.parquet"

    @property
    def environment(self) -> dict[str, str]:
        """Returns the environment of its commands."""
        return {
            **environment(),
            "PYTHONPATH": str(PROGRAMS),
            "PYSPARK_PYTHON": str(self.python),
            "SPARK_LOCAL_IP": LOOPBACK,
        }

    @property
    def argv(self) -> list[str]:
        """Returns the command that loads until SIGTERM."""
        planted = ["--planted-delay-ms", str(self.planted_delay_ms), "--planted-at", self.planted_at]
        return [
            *(str(self.python), "-m", "warehouse.to_hive", "--folder", str(self.folder), "--jars", str(self.jars)),
            *("--bootstrap-servers", self.bootstrap_servers, "--topic", self.topic),
            *("--trigger-ms", str(self.trigger_ms)),
            *(planted if self.planted_delay_ms else []),
        ]


def read_batches(file: Path) -> dict[int, Batch]:
    """Reads what was noted of batches: the last line of each counts, since a batch is repeated after a kill.

    A last line without an end is still being written.

    Raises:
        ArtifactError: If a line cannot be read.
    """
    found: dict[int, Batch] = {}
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    lines = text[: text.rfind("\n") + 1].splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            noted = json.loads(line)
            found[int(noted["batch_id"])] = Batch(int(noted["rows"]), int(noted["t6"]), int(noted["t7"]))
        except (ValueError, KeyError, TypeError) as error:
            raise ArtifactError(f"{file}: line {number}: is not what is noted of a batch: {line[:80]}") from error
    return found
