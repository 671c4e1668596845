"""Adds to a load's counters what its client knows of its own waiting. Pure."""

from __future__ import annotations

from dataclasses import replace

from kafka_pareto.bottleneck.load_counters import LoadCounters
from kafka_pareto.drivers.common.load_tool import LoadRequest, LoadResult

_MS_PER_S = 1000.0


def with_client(counters: LoadCounters, request: LoadRequest, result: LoadResult, brokers: int) -> LoadCounters:
    """Returns the counters with those of the client's unthrottled part.

    Args:
        counters: What was counted from outside.
        request: What was asked of the load tool.
        result: What it answered.
        brokers: How many brokers lead the topic's partitions; each has requests in flight of its own.
    """
    figures, client = result.figures, result.unthrottled_client or result.client
    if figures is None or (request.timed is not None and not result.unthrottled_s):
        return counters
    seconds = result.unthrottled_s or result.records_sent / figures.throughput_records_s
    threads_s = request.producers * seconds  # waits are those of all producers' threads together
    wait_s, buffer_s, cpu_s = result.unthrottled_wait_s, client.buffer_wait_s, result.sending_cpu_s
    return replace(
        counters,
        sending_cpu_cores=None if cpu_s is None else cpu_s / seconds,
        sending_wait_fraction=None if wait_s is None else min(wait_s / threads_s, 1.0),
        buffer_wait_fraction=None if buffer_s is None else min(buffer_s / threads_s, 1.0),
        in_flight_requests=_in_flight_requests(
            figures.throughput_records_s, client.records_per_request_avg, client.request_latency_avg_ms, brokers
        ),
        unthrottled_request_latency_ms=client.request_latency_avg_ms,
        unthrottled_batch_size_avg_bytes=client.batch_size_avg_bytes,
    )


def _in_flight_requests(
    records_s: float, records_per_request: float | None, latency_ms: float | None, brokers: int
) -> float | None:
    """Returns how many requests each broker has not answered yet: their rate times their round trip (Little's law)."""
    if not records_per_request or latency_ms is None:
        return None
    return records_s / records_per_request * latency_ms / _MS_PER_S / brokers
