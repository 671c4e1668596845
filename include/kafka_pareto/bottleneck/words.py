"""Describe the bottleneck of a load."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from kafka_pareto.bottleneck.limiting_resource import (
    BUSY_CPU_FRACTION,
    BUSY_DISK_FRACTION,
    BUSY_NIC_FRACTION,
    FLUSH_S,
    GC_FRACTION,
    IDLE_FRACTION,
    LINK_WAIT_FRACTION,
    LONG_AWAIT_MS,
    LONG_PAUSE_MS,
    LONG_PAUSES_FRACTION,
    MANY_FLUSHES_PER_S,
    STALLED_FRACTION,
    THROTTLED_PERIODS_FRACTION,
)

LABELS: Mapping[str, str] = {
    "": "none found",
    "throttled": "a cluster quota",
    "load_tool": "the load generator",
    "gc": "garbage collection",
    "cpu": "CPU",
    "network": "the network",
    "disk": "the brokers' disk",
    "request_handlers": "request handlers",
    "network_threads": "network threads",
    "in_flight": "in-flight requests",
    "buffer_memory": "the producer's buffer",
}
"""Maps each code to its name."""
_UNKNOWN = "an unknown amount"


def verdict_text(code: str, numbers: Mapping[str, float]) -> str:
    """Return the verdict with its numbers."""
    if code not in _SENTENCES:
        return "No bottleneck found."
    return _SENTENCES[code](numbers)


def _throttled(numbers: Mapping[str, float]) -> str:
    delayed = _ms(numbers, "produce_throttle_max_ms")
    return f"A cluster quota was the bottleneck: responses were delayed by up to {delayed}."


def _load_tool(numbers: Mapping[str, float]) -> str:
    sent = [f"{numbers['throughput_records_s']:,.0f} records/s"] if "throughput_records_s" in numbers else []
    if "rate_limit_records_s" in numbers:
        shown = f" ({sent[0]})" if sent else ""
        return f"The workload's rate limit of {numbers['rate_limit_records_s']:,.0f} records/s was reached{shown}."
    if "ceiling_records_s" in numbers:
        sent.append(f"{numbers['ceiling_records_s']:,.0f} records/s without a broker")
    waited = _percent(numbers, "sending_wait_fraction")
    shown = f" ({'; '.join(sent)})" if sent else ""
    return f"The load generator was the bottleneck: its threads waited for Kafka only {waited} of the time{shown}."


def _gc(numbers: Mapping[str, float]) -> str:
    paused, longest = _percent(numbers, "gc_pause_fraction"), _ms(numbers, "gc_pause_longest_ms")
    exceeded = f"thresholds {_share(LONG_PAUSES_FRACTION)}, {LONG_PAUSE_MS:.0f} ms"
    if numbers.get("gc_pause_fraction", 0.0) > GC_FRACTION:
        exceeded = f"threshold {_share(GC_FRACTION)}"
    return (
        f"Garbage collection was the bottleneck: a broker was paused {paused} of the time, for up to {longest} "
        f"({exceeded})."
    )


def _cpu(numbers: Mapping[str, float]) -> str:
    if "sending_wait_fraction" in numbers:
        used = [f"{numbers['sending_cpu_cores']:.2f} cores"] if "sending_cpu_cores" in numbers else []
        used += (
            [f"{_share(numbers['codec_fraction'])} of the CPU time in the codec"] if "codec_fraction" in numbers else []
        )
        shown = f" ({', '.join(used)})" if used else ""
        return (
            "CPU was the bottleneck: the producer's threads compressed and waited for Kafka only "
            f"{_percent(numbers, 'sending_wait_fraction')} of the time{shown}."
        )
    if "cpu_throttled_fraction" in numbers:
        return (
            "CPU was the bottleneck: the container hit its CPU limit in "
            f"{_percent(numbers, 'cpu_throttled_fraction')} of scheduling periods "
            f"(threshold {_share(THROTTLED_PERIODS_FRACTION)})."
        )
    used_by = {"brokers": "broker_cpu_cores", "sending threads": "sending_cpu_cores"}
    shares = [f"{who} {numbers[name]:.2f} cores" for who, name in used_by.items() if name in numbers]
    return (
        "CPU was the bottleneck: the machine's cores were busy "
        f"{_percent(numbers, 'host_cpu_busy_fraction')} of the time (threshold {_share(BUSY_CPU_FRACTION)}"
        f"{''.join(f'; {share}' for share in shares)})."
    )


def _network(numbers: Mapping[str, float]) -> str:
    if "link_wait_fraction" in numbers:
        is_seen = "request_handler_idle_fraction" in numbers
        unseen = "" if is_seen else " A broker that reads slowly would look the same from here."
        return (
            "The network was the bottleneck: data sent to the brokers was unacknowledged "
            f"{_percent(numbers, 'link_wait_fraction')} of the time (threshold {_share(LINK_WAIT_FRACTION)}; round "
            f"trip {_ms(numbers, 'round_trip_ms')}, minimum {_ms(numbers, 'least_round_trip_ms')}).{unseen}"
        )
    return (
        f"The network was the bottleneck: the interface ran at {_percent(numbers, 'nic_busy_fraction')} of its speed "
        f"(threshold {_share(BUSY_NIC_FRACTION)})."
    )


def _disk(numbers: Mapping[str, float]) -> str:
    if numbers.get("log_flushes_per_s", 0.0) >= MANY_FLUSHES_PER_S and numbers.get("log_flush_s", 0.0) >= FLUSH_S:
        return (
            f"The brokers' disk was the bottleneck: {numbers['log_flushes_per_s']:,.0f} log flushes per second took "
            f"{numbers['log_flush_s']:.2f} s of each second."
        )
    if numbers.get("io_stall_fraction", 0.0) > STALLED_FRACTION:
        wrote = f"; the disk wrote {numbers['disk_write_mib_s']:,.1f} MiB/s" if "disk_write_mib_s" in numbers else ""
        return (
            "The brokers' disk was the bottleneck: all active tasks were stalled on I/O "
            f"{_percent(numbers, 'io_stall_fraction')} of the time (threshold {_share(STALLED_FRACTION)}){wrote}."
        )
    busy, taken = _percent(numbers, "disk_busy_fraction"), _ms(numbers, "disk_await_ms")
    return (
        f"The brokers' disk was the bottleneck: it was busy {busy} of the time, and an operation took {taken} "
        f"(thresholds {_share(BUSY_DISK_FRACTION)}, {LONG_AWAIT_MS:.0f} ms)."
    )


def _in_flight(numbers: Mapping[str, float]) -> str:
    if "synchronous_producers" in numbers:
        threads = _number(numbers, "synchronous_producers", "{:.0f}")
        return (
            f"Synchronous sends were the bottleneck: the sending threads ({threads}) spent "
            f"{_percent(numbers, 'sending_wait_fraction')} of their time waiting for each record's response before "
            f"sending the next; a request took {_ms(numbers, 'unthrottled_request_latency_ms')}, to which linger.ms "
            "adds."
        )
    unanswered, most = (_number(numbers, f"{which}in_flight_requests", "{:.1f}") for which in ("", "most_"))
    return (
        f"In-flight requests were the bottleneck: each broker had {unanswered} of at most {most} unanswered, for "
        f"{_ms(numbers, 'unthrottled_request_latency_ms')} each."
    )


def _buffer_memory(numbers: Mapping[str, float]) -> str:
    if "queue_bytes" in numbers:
        return (
            f"librdkafka's queue of {numbers['queue_bytes'] / (1 << 20):,.0f} MiB was the bottleneck: it was full "
            f"{_percent(numbers, 'buffer_wait_fraction')} of the time. Either its threads, one for each broker, were "
            "too slow to compress and send, or the cluster accepted no more."
        )
    mib = numbers.get("buffer_memory_bytes", 0.0) / (1 << 20)
    return (
        f"The producer's buffer.memory of {mib:,.0f} MiB was the bottleneck: send() waited for space "
        f"{_percent(numbers, 'buffer_wait_fraction')} of the time, and no other resource was exhausted."
    )


def _idle(threads: str, name: str, numbers: Mapping[str, float]) -> str:
    return (
        f"A broker's {threads} were the bottleneck: they were idle only {_percent(numbers, name)} of the time "
        f"(threshold {_share(IDLE_FRACTION)})."
    )


def _percent(numbers: Mapping[str, float], name: str) -> str:
    return _share(numbers[name]) if name in numbers else _UNKNOWN


def _share(fraction: float) -> str:
    """Format as `analysis.wording.share`, which this room may not import."""
    return f"{fraction * 100:.0f} %"


def _ms(numbers: Mapping[str, float], name: str) -> str:
    return _number(numbers, name, "{:,.1f} ms")


def _number(numbers: Mapping[str, float], name: str, form: str) -> str:
    return form.format(numbers[name]) if name in numbers else _UNKNOWN


_SENTENCES: Mapping[str, Callable[[Mapping[str, float]], str]] = {
    "throttled": _throttled,
    "load_tool": _load_tool,
    "gc": _gc,
    "cpu": _cpu,
    "network": _network,
    "disk": _disk,
    "request_handlers": partial(_idle, "request handlers (num.io.threads)", "request_handler_idle_fraction"),
    "network_threads": partial(_idle, "network threads (num.network.threads)", "network_idle_fraction"),
    "in_flight": _in_flight,
    "buffer_memory": _buffer_memory,
}
