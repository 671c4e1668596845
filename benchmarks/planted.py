"""List the causes that `benchmarks.planted_causes` injects, each with its expected limit and symptoms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TypeAlias

from benchmarks.plants import burning, paused, produce_quota
from kafka_pareto.bottleneck.limiting_resource import Code
from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.brokers.jvm import HEAP_MIB
from kafka_pareto.doctor.symptoms import CauseCode
from kafka_pareto.drivers.services.cpu_limits import limited_cores
from kafka_pareto.kafka.known_properties import PropertyValue

Spoil: TypeAlias = Callable[[Brokers], AbstractContextManager[None]]

_KIB, _MIB = 1 << 10, 1 << 20
_PERIOD_OF_CONTAINERS_US = 100_000


@dataclass(frozen=True)
class Follower:
    """A group of one consumer that follows a producer: its settings and its work."""

    properties: Mapping[str, PropertyValue]
    rate_records_s: float
    poll_pause_ms: float = 0.0
    partitions: int = 6


@dataclass(frozen=True)
class Cause:
    """A cause, how it is made, and what has to be found.

    Attributes:
        how: How it is made, for the table.
        limit: The verdict that names it; None where a load shows only its symptom.
        symptoms: The symptoms' causes that have to be among those found.
        producer: Properties besides those of every load.
        broker: Properties of the brokers.
        rate_records_s: The load generator's rate limit.
        paced_records_s: The rate of the part that follows; 0 for no such part.
        link_mbit_s: What the loopback carries.
        disk_mib_s: What the disk of the brokers writes.
        spoil: What is done to running brokers while the load is sent.
        follower: The consumer that is measured, in the place of a producer.
    """

    name: str
    how: str
    limit: Code | None = None
    symptoms: tuple[CauseCode, ...] = ()
    producer: Mapping[str, PropertyValue] = field(default_factory=dict)
    broker: Mapping[str, PropertyValue] = field(default_factory=dict)
    brokers: int = 1
    heap_mib: int = HEAP_MIB
    rate_records_s: float | None = None
    paced_records_s: float = 0.0
    link_mbit_s: int | None = None
    disk_mib_s: int | None = None
    spoil: Spoil = lambda _: nullcontext()
    follower: Follower | None = None

    @property
    def cluster(self) -> tuple[object, ...]:
        """Return what the brokers depend on: causes for which it is the same are made on the same brokers."""
        return self.brokers, self.heap_mib, self.link_mbit_s, self.disk_mib_s, *sorted(self.broker.items())


# Followers that fetch late let an acknowledgement of all replicas wait, while every resource is idle.
_LATE_FOLLOWERS: dict[str, PropertyValue] = {"replica.fetch.min.bytes": 64 * _MIB, "replica.fetch.wait.max.ms": 300}
_GUIDES_FETCH: dict[str, PropertyValue] = {"fetch.min.bytes": _MIB, "fetch.max.wait.ms": 500}

# The buffer is full behind what cannot take more.
_TOO_FAST: tuple[CauseCode, ...] = ("sent_too_fast",)

CAUSES: tuple[Cause, ...] = (
    Cause(
        "quota",
        "a quota of 0.5 MiB/s for each producer",
        "throttled",
        symptoms=_TOO_FAST,
        spoil=lambda made: produce_quota(made, 0.5),
    ),
    Cause("rate_limit", "the load generator is limited to 500 records/s", "load_tool", rate_records_s=500.0),
    Cause("codec", "gzip", "cpu", producer={"compression.type": "gzip"}),
    Cause("busy_cores", "four processes that do nothing else take the cores", "cpu", spoil=lambda _: burning(4)),
    Cause(
        "cpu_limit",
        "a limit of 0.3 cores for the broker, as a container's is",
        "cpu",
        symptoms=_TOO_FAST,
        spoil=lambda made: limited_cores(0.3, list(made.pids.values()), period_us=_PERIOD_OF_CONTAINERS_US),
    ),
    Cause(
        "small_heap",
        "a broker with 66 MiB of heap, batches of 1 MB",
        "gc",
        symptoms=_TOO_FAST,
        producer={"batch.size": 1_000_000, "buffer.memory": 32 * _MIB, "compression.type": "none"},
        heap_mib=66,
    ),
    Cause("slow_link", "a link of 50 Mbit/s", "network", symptoms=_TOO_FAST, link_mbit_s=50),
    Cause("slow_disk", "a disk that writes 8 MiB/s", "disk", symptoms=_TOO_FAST, disk_mib_s=8),
    Cause(
        "flushes",
        "a flush for each message",
        "disk",
        symptoms=_TOO_FAST,
        broker={"log.flush.interval.messages": 1},
    ),
    Cause(
        "one_handler",
        "one request handler, which compresses with gzip",
        "request_handlers",
        symptoms=_TOO_FAST,
        broker={"num.network.threads": 1, "num.io.threads": 1, "compression.type": "gzip"},
    ),
    Cause(
        "late_followers",
        "followers that fetch every 300 ms, acks=all, one request in flight",
        "in_flight",
        producer={"acks": "all", "max.in.flight.requests.per.connection": 1, "buffer.memory": 32 * _MIB},
        broker=_LATE_FOLLOWERS,
        brokers=3,
    ),
    Cause(
        "small_buffer",
        "the same with five requests in flight and a buffer of 256 KiB",
        "buffer_memory",
        symptoms=("buffer_is_small",),
        producer={"acks": "all", "buffer.memory": 256 * _KIB},
        broker=_LATE_FOLLOWERS,
        brokers=3,
    ),
    Cause(
        "small_batches",
        "batches of 16 KiB under such followers, one request in flight",
        symptoms=("batches_are_full",),
        producer={
            "acks": "all",
            "max.in.flight.requests.per.connection": 1,
            "batch.size": 16384,
            "buffer.memory": 256 * _KIB,
        },
        broker=_LATE_FOLLOWERS,
        brokers=3,
    ),
    Cause(
        "no_linger",
        "linger.ms 0, batches of 1 MiB and a buffer of 8 under such followers, five requests in flight",
        symptoms=("no_linger",),
        producer={"acks": "all", "linger.ms": 0, "batch.size": _MIB, "buffer.memory": 8 * _MIB},
        broker=_LATE_FOLLOWERS,
        brokers=3,
    ),
    Cause(
        "no_codec",
        "no codec on a link of 50 Mbit/s",
        symptoms=("uncompressed", "sent_too_fast"),
        producer={"compression.type": "none"},
        link_mbit_s=50,
    ),
    Cause(
        "large_buffer",
        "a buffer of 32 MiB before a link of 50 Mbit/s, then more than it carries",
        symptoms=("sent_too_fast", "backlog"),
        producer={"buffer.memory": 32 * _MIB},
        link_mbit_s=50,
        paced_records_s=30_000.0,
    ),
    Cause(
        "long_linger",
        "linger.ms 200 at 500 records/s",
        symptoms=("linger_is_long",),
        producer={"linger.ms": 200},
        paced_records_s=500.0,
    ),
    Cause(
        "no_patience",
        "the broker stops for 4 s, max.block.ms 1,000",
        symptoms=("max_block_reached",),
        producer={"max.block.ms": 1000},
        spoil=lambda made: paused(made, after_s=5.0, seconds=4.0),
    ),
    Cause(
        "waiting_fetches",
        "fetch.min.bytes 1 MiB at 500 records/s",
        symptoms=("fetch_waits",),
        follower=Follower(_GUIDES_FETCH, 500.0),
    ),
    Cause("at_ease", "fetch.min.bytes 1 at 500 records/s", follower=Follower({}, 500.0)),
    Cause(
        "small_polls",
        "polls of 10 records, 50 ms apart, at 500 records/s",
        symptoms=("polls_are_full", "processing_is_slow"),
        follower=Follower({"max.poll.records": 10}, 500.0, poll_pause_ms=50.0),
    ),
    Cause(
        "slow_processing",
        "200 ms for each poll of 500 records at most, at 4,000 records/s",
        symptoms=("polls_are_full", "processing_is_slow"),
        follower=Follower({}, 4_000.0, poll_pause_ms=200.0),
    ),
    Cause(
        "one_partition",
        "the same with one partition",
        symptoms=("polls_are_full", "too_few_partitions"),
        follower=Follower({}, 4_000.0, poll_pause_ms=200.0, partitions=1),
    ),
)
