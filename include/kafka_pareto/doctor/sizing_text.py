"""Says in words what a load needs, beside what the guide says of the same. Pure."""

from __future__ import annotations

from kafka_pareto.analysis.wording import counted
from kafka_pareto.doctor.sizing import IN_FLIGHT_REQUESTS, Sizing, gbit_s


def sizing_text(sizing: Sizing) -> str:
    """Returns the sizing as text for a terminal, without a newline at its end."""
    asked, cluster = sizing.request, sizing.cluster
    rows = [
        ("produced", cluster.produced_gb_s),
        ("replicated", cluster.replicated_gb_s),
        ("consumed", cluster.consumed_gb_s),
        ("total", cluster.total_gb_s),
    ]
    per_broker_gb_s = cluster.total_gb_s / asked.brokers
    return "\n".join(
        [
            f"{asked.records_s:,.0f} records/s of {asked.record_size:,} B; {asked.brokers} brokers, replication "
            f"{asked.replication}, {counted(asked.consumers, 'consumer group')}",
            "",
            f"{'Network':<12}{'cluster':>26}{'per broker':>28}",
            *(f"  {name:<10}{_rate(gb_s):>26}{_rate(gb_s / asked.brokers):>28}" for name, gb_s in rows),
            f"  Each broker receives {_rate(sizing.broker_received_gb_s)} and sends {_rate(sizing.broker_sent_gb_s)}.",
            f'  The guide calls such a total (4 GB/s = 32 Gbit/s) "per broker". It is the cluster\'s: here '
            f"{cluster.total_gb_s:.2f} GB/s,",
            f"  and {per_broker_gb_s:.2f} GB/s for each of {asked.brokers} brokers. Its advice of 25 Gbit/s at least "
            "would not carry 32.",
            "",
            f"Disk, {asked.retention_h:,g} h kept",
            f"  one copy    {sizing.disk_tb_one_copy:,.1f} TB (the guide stops here)",
            f"  replicas    {sizing.disk_tb_cluster:,.1f} TB in the cluster, {sizing.disk_tb_per_broker:,.1f} TB per "
            "broker",
            f"  written     {sizing.disk_write_gb_s_per_broker:.2f} GB/s per broker",
            "",
            f"Page cache    {sizing.page_cache_gib:,.0f} GiB = {asked.partitions:,} partitions x "
            f"{asked.segment_gib:g} GiB x 2; with replicas {sizing.page_cache_gib_per_broker:,.0f} GiB per broker",
            f"Cores         {sizing.cores_per_broker_fewest} to {sizing.cores_per_broker_most} per broker: "
            f"{asked.network_threads} network threads, {asked.io_threads} I/O threads, 1 to 2 for codecs, 1 to 2 for "
            "collections",
            "  By the same rule the guide's 16 network and 32 I/O threads need 50 to 52 cores; it gives them to 32.",
            f"  lz4 takes about {sizing.codec_cores:.1f} cores of the producers together (0.5 GB/s per core).",
            f"In flight     {_rate(sizing.connection_gb_s)} per connection at most = {IN_FLIGHT_REQUESTS} requests x "
            f"{asked.batch_size:,} B / {asked.round_trip_ms:g} ms",
            f"  At least {counted(sizing.fewest_producers, 'producer')}, connected to every broker.",
        ]
    )


def _rate(gb_s: float) -> str:
    return f"{gb_s:.2f} GB/s ({gbit_s(gb_s):.1f} Gbit/s)"
