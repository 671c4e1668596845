"""Payload and topic of a load."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, Self, TypeAlias, get_args

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from kafka_pareto.kafka.producer_settings import ProducerClient
from kafka_pareto.study.faults import BrokerFault, FaultTimes
from kafka_pareto.study.identifiers import MOST_PRODUCERS
from kafka_pareto.study.section import Count, Section

BUNDLED = "bundled"
"""The version of a client that comes with the project."""
MadePayload: TypeAlias = Literal["random", "zeros"]
"""Payload made by the load tool: random letters, or zero bytes."""
Arrival: TypeAlias = Literal["constant", "poisson", "recorded"]
"""Inter-arrival times at a fixed rate: constant, exponential, or those of the sample."""
Sends: TypeAlias = Literal["asynchronous", "synchronous"]
"""Ways to send: without waiting, or after the answer to the record before."""


def _stays_with_the_study(file: str) -> str:
    path = PurePosixPath(file)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError("must lie in the study's folder or below: give a relative path without ..")
    return file


FileBesideStudy = Annotated[str, AfterValidator(_stays_with_the_study)]
"""User's file in the study's folder or below."""


class PayloadFile(Section):
    """Cuts records from a text file in or below the study's folder."""

    file: FileBesideStudy


class SampledPayload(Section):
    """Sends a topic's own records in their order, with their keys, values and headers.

    `sample` is a file in or below the study's folder, as `kafka-pareto audit --study-folder` writes it. The store keeps
    a copy; with `workload.keep_sample: false` only until the campaign has ended.
    """

    sample: FileBesideStudy


class CompressiblePayload(Section):
    """Makes records that zlib compresses to about this fraction."""

    compressed_fraction: Annotated[float, Field(ge=0.05, le=0.7)]


def _payload_kind(given: Any) -> str | None:
    if isinstance(given, str) and given in get_args(MadePayload):
        return "payload_made"
    if isinstance(given, PayloadFile) or (isinstance(given, dict) and "file" in given):
        return "payload_file"
    if isinstance(given, SampledPayload) or (isinstance(given, dict) and "sample" in given):
        return "payload_sampled"
    if isinstance(given, CompressiblePayload) or (isinstance(given, dict) and "compressed_fraction" in given):
        return "payload_compressible"
    return None


Payload = Annotated[
    Annotated[MadePayload, Tag("payload_made")]
    | Annotated[PayloadFile, Tag("payload_file")]
    | Annotated[SampledPayload, Tag("payload_sampled")]
    | Annotated[CompressiblePayload, Tag("payload_compressible")],
    Discriminator(
        _payload_kind,
        custom_error_type="payload",
        custom_error_message="must be random, zeros, {file: …}, {sample: …} or {compressed_fraction: …}",
    ),
]


class Topic(Section):
    """Defines the topic."""

    topic_partitions: Count = 3
    replication_factor: Annotated[int, Field(ge=1, le=32767)] = 3
    min_insync_replicas: Count = 2

    @model_validator(mode="after")
    def _in_sync_within_replicas(self) -> Self:
        if self.min_insync_replicas > self.replication_factor:
            raise ValueError("min_insync_replicas must not exceed replication_factor")
        return self


class SentTopic(Topic):
    """Adds a limit of the topic's size: the brokers delete its oldest records while a load runs.

    `retained_gib` is of one replica, spread evenly over the partitions, each of which also keeps a segment. Without it,
    records stay until the load ends.
    """

    retained_gib: Annotated[float, Field(gt=0)] | None = None


class Workload(SentTopic):
    """Adds the records sent; `keys` is the number of distinct keys, 0 for none.

    The `producers` share all rates. `arrival` sets the inter-arrival times in the part at a fixed rate: `constant`,
    exponential as from independent senders (`poisson`), or those of the sample scaled to the rate (`recorded`). With
    `sends: synchronous` each producer waits for the answer to a record before it sends the next.

    `faults` occur one after another in every repetition: a broker that leads a partition is killed (`leader_killed`) or
    stopped (`broker_stopped`). The pause between two is as long as a fault.
    """

    payload: Payload = "random"
    keep_sample: bool = True
    keys: Annotated[int, Field(ge=0)] = 0
    producers: Annotated[int, Field(ge=1, le=MOST_PRODUCERS)] = 1
    arrival: Arrival = "constant"
    sends: Sends = "asynchronous"
    faults: list[BrokerFault] = Field(default_factory=list)
    fault_times: FaultTimes = FaultTimes(at_s=3.0, for_s=10.0)


@dataclass(frozen=True)
class ProducerLoad:
    """Load of one configuration in one case, sent by a version of a client."""

    record_size_bytes: int
    payload: Payload = "random"
    keys: int = 0
    producers: int = 1
    arrival: Arrival = "constant"
    sends: Sends = "asynchronous"
    client: ProducerClient = "java"
    client_version: str = BUNDLED

    @property
    def is_sampled(self) -> bool:
        """Return whether the payload is a topic's own records."""
        return isinstance(self.payload, SampledPayload)

    @property
    def made_payload(self) -> MadePayload:
        """Return the load tool's own fill; random letters if records are supplied."""
        return self.payload if isinstance(self.payload, str) else "random"
