"""Size a cluster for a workload by the guide's formulas (F. Courouge, sections "Dimensionnement …").

Rates are decimal, as for networks and disks: 1 GB is 10^9 B. The page cache is binary, like segments: 1 GiB is 2^30 B.
"""

from __future__ import annotations

import math

from kafka_pareto.analysis.wording import counted
from kafka_pareto.errors import BadInputError
from kafka_pareto.storage.record import Frozen, Record
from kafka_pareto.study.requests import SizingRequest

IN_FLIGHT_REQUESTS = 5
"""Unanswered requests per connection: the producer's default, and the maximum with idempotence."""

_BYTES_PER_GB = 10**9
_BITS_PER_BYTE = 8
_SECONDS_PER_HOUR = 3600
_SEGMENTS_HELD = 2
# The guide's "LZ4 = ~500 MB/s par core".
_CODEC_GB_S_PER_CORE = 0.5
# The guide's "Compression: 1-2 cores", "GC: 1-2 cores", besides one core per network and I/O thread.
_MIN_EXTRA_CORES, _MAX_EXTRA_CORES = 2, 4


class Traffic(Frozen):
    """The cluster's traffic, in GB/s.

    Attributes:
        produced_gb_s: Bytes from producers.
        replicated_gb_s: Bytes copied between brokers: the produced bytes for each follower.
        consumed_gb_s: Bytes to consumers: the produced bytes for each group.
    """

    produced_gb_s: float
    replicated_gb_s: float
    consumed_gb_s: float

    @property
    def total_gb_s(self) -> float:
        """Return the sum; like the guide, it counts a copy between two brokers once."""
        return self.produced_gb_s + self.replicated_gb_s + self.consumed_gb_s


class Sizing(Record):
    """The resources a workload needs, with leaders, replicas and connections spread evenly over the brokers.

    Attributes:
        cluster: The traffic of all brokers.
        broker_received_gb_s: Bytes that one broker receives, from producers and other leaders.
        broker_sent_gb_s: Bytes that one broker sends, to followers and consumers.
        disk_write_gb_s_per_broker: Bytes each broker writes, replicas included.
        disk_tb_one_copy: Retained records without replicas, as in the guide.
        disk_tb_cluster: Retained records with all replicas.
        page_cache_gib: The guide's partitions x segment x 2.
        page_cache_gib_per_broker: The same for one broker's replicas.
        cores_per_broker_fewest: One core per network and I/O thread, one for codecs, one for garbage collection.
        cores_per_broker_most: The same with two each for codecs and garbage collection.
        codec_cores: Cores to compress the produced bytes with lz4, over all producers.
        connection_gb_s: Maximum of one connection: requests in flight x batch / round trip.
        fewest_producers: Producers needed at that maximum, each with a connection to every broker.
    """

    request: SizingRequest
    cluster: Traffic
    broker_received_gb_s: float
    broker_sent_gb_s: float
    disk_write_gb_s_per_broker: float
    disk_tb_one_copy: float
    disk_tb_cluster: float
    disk_tb_per_broker: float
    page_cache_gib: float
    page_cache_gib_per_broker: float
    cores_per_broker_fewest: int
    cores_per_broker_most: int
    codec_cores: float
    connection_gb_s: float
    fewest_producers: int


def gbit_s(gb_s: float) -> float:
    """Convert GB/s to Gbit/s, both decimal."""
    return gb_s * _BITS_PER_BYTE


def in_flight_limit_gb_s(batch_size_bytes: int, round_trip_ms: float, requests: int = IN_FLIGHT_REQUESTS) -> float:
    """Return the maximum throughput of one connection with this many requests in flight."""
    return requests * batch_size_bytes / (round_trip_ms / 1000) / _BYTES_PER_GB


def size_cluster(request: SizingRequest) -> Sizing:
    """Compute the resources the workload needs.

    Raises:
        BadInputError: If there are fewer brokers than replicas.
    """
    if request.replication > request.brokers:
        raise BadInputError(
            f"REPLICATION={request.replication} exceeds BROKERS={request.brokers}, but a broker holds only one replica "
            "of a partition; lower REPLICATION or add brokers"
        )
    brokers, replication = request.brokers, request.replication
    produced = request.records_s * request.record_size / _BYTES_PER_GB
    cluster = Traffic(
        produced_gb_s=produced,
        replicated_gb_s=produced * (replication - 1),
        consumed_gb_s=produced * request.consumers,
    )
    kept_tb = produced * request.retention_h * _SECONDS_PER_HOUR / 1000
    page_cache_gib = request.partitions * request.segment_gib * _SEGMENTS_HELD
    threads = request.network_threads + request.io_threads
    connection = in_flight_limit_gb_s(request.batch_size, request.round_trip_ms)
    return Sizing(
        request=request,
        cluster=cluster,
        broker_received_gb_s=(cluster.produced_gb_s + cluster.replicated_gb_s) / brokers,
        broker_sent_gb_s=(cluster.replicated_gb_s + cluster.consumed_gb_s) / brokers,
        disk_write_gb_s_per_broker=produced * replication / brokers,
        disk_tb_one_copy=kept_tb,
        disk_tb_cluster=kept_tb * replication,
        disk_tb_per_broker=kept_tb * replication / brokers,
        page_cache_gib=page_cache_gib,
        page_cache_gib_per_broker=page_cache_gib * replication / brokers,
        cores_per_broker_fewest=threads + _MIN_EXTRA_CORES,
        cores_per_broker_most=threads + _MAX_EXTRA_CORES,
        codec_cores=produced / _CODEC_GB_S_PER_CORE,
        connection_gb_s=connection,
        fewest_producers=math.ceil(produced / brokers / connection),
    )


def sizing_text(sizing: Sizing) -> str:
    """Return the sizing as text for a terminal, without a trailing newline."""
    asked, cluster = sizing.request, sizing.cluster
    rows = [
        ("produced", cluster.produced_gb_s),
        ("replicated", cluster.replicated_gb_s),
        ("consumed", cluster.consumed_gb_s),
        ("total", cluster.total_gb_s),
    ]
    threads = f"{counted(asked.network_threads, 'network thread')}, {counted(asked.io_threads, 'I/O thread')}"
    per_broker_gb_s = cluster.total_gb_s / asked.brokers
    return "\n".join(
        [
            f"{asked.records_s:,.0f} records/s of {asked.record_size:,} B; {counted(asked.brokers, 'broker')}, "
            f"replication factor {asked.replication}, {counted(asked.consumers, 'consumer group')}",
            "",
            f"{'Network':<12}{'cluster':>26}{'per broker':>28}",
            *(f"  {name:<10}{_rate(gb_s):>26}{_rate(gb_s / asked.brokers):>28}" for name, gb_s in rows),
            f"  Each broker receives {_rate(sizing.broker_received_gb_s)} and sends {_rate(sizing.broker_sent_gb_s)}; "
            "both include replication.",
            '  The guide calls this total (4 GB/s = 32 Gbit/s) "per broker", but it is for the whole cluster: here',
            f"  {cluster.total_gb_s:.2f} GB/s, or {per_broker_gb_s:.2f} GB/s per broker. The 25 Gbit/s interface it "
            "recommends could not carry 32 Gbit/s.",
            "",
            f"Disk for a retention of {asked.retention_h:,g} h",
            f"  one copy    {sizing.disk_tb_one_copy:,.1f} TB (as the guide counts)",
            f"  replicas    {sizing.disk_tb_cluster:,.1f} TB in the cluster, {sizing.disk_tb_per_broker:,.1f} TB per "
            "broker",
            f"  written     {sizing.disk_write_gb_s_per_broker:.2f} GB/s per broker",
            "",
            f"Page cache    {sizing.page_cache_gib:,.0f} GiB (one copy: {counted(asked.partitions, 'partition')} x "
            f"{_SEGMENTS_HELD} segments of {asked.segment_gib:g} GiB); with replicas "
            f"{sizing.page_cache_gib_per_broker:,.0f} GiB per broker",
            f"Cores         {sizing.cores_per_broker_fewest} to {sizing.cores_per_broker_most} per broker: "
            f"{threads}, 1 to 2 for codecs, 1 to 2 for GC",
            "  By this rule the guide's 16 network and 32 I/O threads need 50 to 52 cores, but it plans 32.",
            f"  All producers together need about {sizing.codec_cores:.1f} cores for lz4 (0.5 GB/s per core).",
            f"Connection    at most {_rate(sizing.connection_gb_s)} = {IN_FLIGHT_REQUESTS} requests in flight x "
            f"{asked.batch_size:,} B / {asked.round_trip_ms:g} ms",
            f"  At least {counted(sizing.fewest_producers, 'producer')}, connected to every broker.",
        ]
    )


def _rate(gb_s: float) -> str:
    return f"{gb_s:.2f} GB/s ({gbit_s(gb_s):.1f} Gbit/s)"
