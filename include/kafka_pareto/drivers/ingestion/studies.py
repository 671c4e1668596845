"""Define the study that compares ways of sending the rows of a CSV file to a topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from kafka_pareto.analysis.wording import counted
from kafka_pareto.drivers.ingestion.declaration import DRIVER
from kafka_pareto.kafka.known_properties import (
    BOUNDS,
    CHOICES,
    DEFAULTS,
    Durability,
    PropertyValue,
    durability_of,
    is_idempotent,
)
from kafka_pareto.study.compare import Compare
from kafka_pareto.study.declaration import Driver
from kafka_pareto.study.factors import Configuration, FactorValue
from kafka_pareto.study.protocol import Protocol
from kafka_pareto.study.section import Count, Fraction
from kafka_pareto.study.setting import BROKER_SETTINGS, Setting, client_settings
from kafka_pareto.study.topic_study import TopicStudy, conditions_of
from kafka_pareto.study.workload import Topic

PUBLISHED_ROWS = 5_208_181
PRODUCERS = "producers"
OTHER_TOOLS = ("kafka_tool", "kcat")
KCAT_PROPERTIES = (
    "acks",
    "batch.size",
    "buffer.memory",
    "compression.type",
    "enable.idempotence",
    "linger.ms",
    "max.request.size",
)
"""The producer properties that kcat's client has."""
_MOST_CLIENTS = 64
_MOST_ROWS = 1_000_000_000
_LOAD_SETTINGS = (
    Setting("path", "producer", "load", choices=("producer", "batches", *OTHER_TOOLS)),
    Setting("reader", "mapped", "load", choices=("substring", "line", "slices", "mapped")),
    Setting("encoding", "bytes", "load", choices=("bytes", "avro", "json")),
    Setting(
        "senders",
        "sequential",
        "load",
        choices=(
            *("sequential", "parallel_stream", "fork_join_2", "fork_join_4", "fork_join_8"),
            *("platform_threads_100", "virtual_threads_100", "virtual_threads_1000", "virtual_threads_10000"),
        ),
    ),
    Setting(PRODUCERS, 1, "load", least=1, most=_MOST_CLIENTS),
    Setting("processes", 1, "load", least=1, most=_MOST_CLIENTS),
    Setting("page_cache", "warm", "load", choices=("warm", "cold")),
    Setting("resumable", "false", "load", choices=("false", "true")),
    Setting("partitions", 0, "load", least=0, most=1000),
    Setting("rows", 0, "load", least=0, most=_MOST_ROWS),
)
SETTINGS: dict[str, Setting] = {
    **client_settings(DEFAULTS, CHOICES, BOUNDS),
    **{each.name: each for each in _LOAD_SETTINGS},
    **BROKER_SETTINGS,
}
"""All settings of a comparison of ingestions."""


class IngestionProtocol(Protocol):
    """Adds the time limit of an ingestion, and its warm-up.

    Each process first sends `warmup_rows` rows to a separate topic (quantity `cold_rows_s`), because a new JVM is
    slow. With 0 the file itself is sent cold.
    """

    timeout_s: Annotated[float, Field(gt=0)] = 600.0
    warmup_rows: Annotated[int, Field(ge=0)] = 3_000_000

    _not_of_a_repetition: ClassVar[frozenset[str]] = Protocol._not_of_a_repetition | {"timeout_s"}


class RowsWorkload(Topic):
    """Adds the rows: `rows` generated from the study's seed, or a `file` with a header on the measuring machine."""

    rows: Count = PUBLISHED_ROWS
    file: str | None = None
    delimiter: Annotated[str, Field(pattern="^[,;|\t]$")] = ","
    tolerated_malformed_fraction: Fraction = 0.001


class CompareIngestion(Compare, TopicStudy):
    """Compares ways to send the rows of a CSV file to a topic, one record per row.

    For its levels, see `docs/ingestion.md`.
    """

    declaration: ClassVar[Driver] = DRIVER

    kind: Literal["compare"] = "compare"
    driver: Literal["ingestion"] = "ingestion"
    workload: RowsWorkload = RowsWorkload()
    protocol: IngestionProtocol = IngestionProtocol(repetitions=5, cool_down_s=5.0)

    throughputs_by_clients: ClassVar[Mapping[str, tuple[str, ...]]] = {PRODUCERS: ("rows_s",), "processes": ("rows_s",)}

    def settings(self) -> Mapping[str, Setting]:
        """Map producer properties, methods of reading and sending, and broker properties."""
        return SETTINGS

    @property
    def compared(self) -> tuple[str, ...]:
        """List the rate, the client's cost per row, and the rate of a new process."""
        cold = ("cold_rows_s",) if self.protocol.warmup_rows else ()
        return ("rows_s", "client_cpu_s_per_million_rows", *cold)

    def partitions(self, configuration: Configuration) -> int:
        """Return the topic's number of partitions."""
        return int(self.effective(configuration)["partitions"]) or self.workload.topic_partitions

    def rows(self, configuration: Configuration) -> int:
        """Return the number of rows to send; 0 for all of a user's file."""
        return int(self.effective(configuration)["rows"]) or (0 if self.workload.file else self.workload.rows)

    def properties(self, configuration: Configuration) -> dict[str, PropertyValue]:
        """Return the producer's settings stated by reference and configuration, idempotence resolved."""
        stated = {name: value for name, value in self.stated(configuration).items() if name in DEFAULTS}
        return {**stated, "enable.idempotence": is_idempotent(stated)}

    def durability_of(self, configuration: Configuration) -> Durability:
        """Return the producer's durability."""
        return durability_of(self.properties(configuration))

    def described_protocol(self) -> dict[str, str]:
        """Describe what one repetition sends, as names and texts for people."""
        topic = self.workload
        named = topic.file or counted(topic.rows, "made-up book")
        warmup = (
            f"{counted(self.protocol.warmup_rows, 'row')} of each process, sent to another topic before the file; "
            "Kafka's tool sends them to the same topic; kcat sends none"
        )
        return super().described_protocol() | {
            "file": f"{named}, loaded into the page cache or evicted from it before each repetition",
            "rows": "all, unless a part fixes the number",
            "warm-up": warmup if self.protocol.warmup_rows else "none: each process sends its part of the file cold",
            "topic": f"{counted(topic.replication_factor, 'replica')}, min.insync.replicas "
            f"{topic.min_insync_replicas}; recreated for each repetition, and fully read back after it",
        }

    def conditions(self) -> dict[str, Any]:
        """Return the reference, the file, the topic, the brokers and the protocol of a repetition, by their keys."""
        return conditions_of(self, self.stated({}))

    @model_validator(mode="after")
    def _on_brokers_of_its_own(self) -> Self:
        if self.cluster is not None:
            raise ValueError(
                "cluster: ingestions are compared on the study's own brokers or on the stack's cluster; a "
                "file can be sent to any cluster with make ingest"
            )
        return self

    def conflict_in(self, level: Configuration) -> str:
        """Return a level's conflict of settings; empty if it has none."""
        found = self.effective(level)
        path = found["path"]
        if path != "producer" and found["senders"] != "sequential":
            return f"senders {found['senders']}: needs path producer; {path} sends from the reading thread"
        if self.workload.file and found["rows"]:
            return f"rows {found['rows']}: must be 0 with workload.file, because a file is sent whole"
        ours: dict[str, FactorValue] = {
            "reader": "mapped",
            "encoding": "bytes",
            "resumable": "false",
            PRODUCERS: 1,
            "processes": 1,
        }
        if path == "kcat":
            if int(found["batch.size"]) > int(found["max.request.size"]):
                return f"batch.size {found['batch.size']}: must be at most max.request.size with path kcat"
            ours |= {name: SETTINGS[name].value(DEFAULTS[name]) for name in DEFAULTS if name not in KCAT_PROPERTIES}
        if path in OTHER_TOOLS and (own := [name for name, value in ours.items() if found[name] != value]):
            return f"{own[0]} {found[own[0]]}: path {path} ignores it; keep {own[0]} at {ours[own[0]]} there"
        if found["resumable"] == "true":
            alone = {"senders": "sequential", PRODUCERS: 1, "processes": 1}
            if other := [name for name, value in alone.items() if found[name] != value]:
                return f"{other[0]} {found[other[0]]}: must be {alone[other[0]]} with resumable, to keep rows in order"
            if self.durability_of(level) is not Durability.acks_all_idempotent:
                return "resumable: needs acks all and idempotence, or rows could be lost, duplicated or reordered"
        return ""


STUDIES = {"compare": CompareIngestion}
