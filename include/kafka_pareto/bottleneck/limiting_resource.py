"""Find the bottleneck of a load in the quantities of a repetition.

An exhausted resource makes others look exhausted, too. The rules are therefore tested with causes before their
consequences, and the first match is the verdict.

1. `throttled`: a quota delays responses on purpose; everything else then waits for the quota.
2. `load_tool` or `cpu`: if the sending threads did not wait for Kafka, no broker is the limit, however busy it looks.
   If they lacked a core on a busy machine or were compressing, the verdict is CPU, since any other producer would be
   limited in the same way (see `_client_limit`).
3. `gc`: a broker was paused at least a tenth of the time. Pauses also take CPU for the collector's threads.
4. `cpu`: all cores are full, or a container reached its CPU limit. Threads that wait for a core count as busy, so full
   cores make all threads look exhausted.
5. `network`: an interface at its line rate makes brokers and clients wait while nothing on this machine is full.
6. `disk`: precedes the request handlers, because a handler that waits for a flush counts as busy.
7. `request_handlers`, then `network_threads`: a network thread does not read a connection while a handler works on its
   request, so exhausted handlers leave network threads idle, but not vice versa.
8. `cpu`: cores are busy but not full. On few cores, one exhausted thread is enough for that.
9. `gc`: long pauses take a smaller part of the time. Busy cores make pauses longer.
10. `network`: sent data is in transit most of the time. A broker that does not read has the same effect.
11. `in_flight`, then `buffer_memory`: nothing above is exhausted, so the client's own limits apply. If all connections
    have their maximum of requests in flight, a larger buffer would only hold more waiting records. A producer that
    sends synchronously has one record in flight.

A busy disk alone is not a bottleneck: brokers leave writes to the kernel, which writes in the background. The disk
counts only if the whole machine waits for it (PSI), or if handlers are busy while it is. Flushes after a number of
messages are the exception: they delay one connection's requests while the disk and most handlers look idle, so the time
spent in flushes counts. Flushes at the end of a segment are rare, and no request waits for them.

`python -m benchmarks.planted_causes` tests each rule on loads with a known cause.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from kafka_pareto.bottleneck.ceilings import Ceilings
from kafka_pareto.kafka.known_properties import DEFAULTS, PropertyValue
from kafka_pareto.study.quantity import Values

Code: TypeAlias = Literal[
    "",
    "throttled",
    "load_tool",
    "gc",
    "cpu",
    "network",
    "disk",
    "request_handlers",
    "network_threads",
    "in_flight",
    "buffer_memory",
]

# The guide's thresholds.
BUSY_CPU_FRACTION = 0.8
BUSY_NIC_FRACTION = 0.8
BUSY_DISK_FRACTION = 0.8
LONG_AWAIT_MS = 10.0
LONG_PAUSE_MS = 100.0
IDLE_FRACTION = 0.3

# Our thresholds, missing in the guide.
GC_FRACTION = 0.1
LONG_PAUSES_FRACTION = 0.03
STALLED_FRACTION = 0.3
FLUSH_S = 0.5
MANY_FLUSHES_PER_S = 20.0
NEAR_FRACTION = 0.8
OWN_CORE_FRACTION = 0.9
THROTTLED_PERIODS_FRACTION = 0.5
LINK_WAIT_FRACTION = 0.5
FULL_CPU_FRACTION = 0.95
REACHED_RATE_FRACTION = 0.97
CODEC_SHARE = 0.5
BUFFER_WAIT_FRACTION = 0.2
SYNCHRONOUS_WAIT_FRACTION = 0.5
_SLOW_CODECS = ("gzip", "zstd")
_LINK = ("round_trip_ms", "least_round_trip_ms", "request_handler_idle_fraction")


@dataclass(frozen=True)
class LoadSetting:
    """The settings of a repetition that affect its verdict.

    Attributes:
        record_size_bytes: Size of a record's value.
        properties: Producer properties under Java's names; its defaults apply to missing ones.
        is_synchronous: Whether each producer waits for the answer to a record before the next.
        queue_bytes: Size of librdkafka's queue, behind which other threads compress; None for Java's client.
        rate_limit_records_s: The load generator's rate limit; None if unthrottled.
        producers: Sending threads, each with its own producer.
        payload: The study's name for the records.
    """

    record_size_bytes: int
    properties: Mapping[str, PropertyValue] = field(default_factory=dict)
    rate_limit_records_s: float | None = None
    producers: int = 1
    payload: str = "random"
    queue_bytes: int | None = None
    is_synchronous: bool = False

    def property_of(self, name: str) -> PropertyValue:
        """Return a producer property, or Kafka's default."""
        return self.properties.get(name, DEFAULTS[name])


@dataclass(frozen=True)
class Verdict:
    """The bottleneck of a load.

    Attributes:
        code: The resource; empty if none was found.
        numbers: The evidence: quantities by name, and thresholds by the name of their rule.
    """

    code: Code
    numbers: Mapping[str, float]


NONE_FOUND = Verdict("", {})


def verdict_on(values: Values, setting: LoadSetting, ceilings: Ceilings | None = None) -> Verdict:
    """Return the bottleneck of a load.

    Args:
        values: The repetition's quantities by name. A rule without its quantities does not match.
        setting: The repetition's settings.
        ceilings: The machine's maxima without Kafka, if measured.
    """
    return (
        _throttled(values)
        or _client_limit(values, setting, ceilings)
        or _above(values, "gc", "gc_pause_fraction", GC_FRACTION, ("gc_pause_longest_ms",))
        or _busy_cores(values, FULL_CPU_FRACTION)
        or _above(values, "network", "nic_busy_fraction", BUSY_NIC_FRACTION)
        or _disk(values, ceilings)
        or _below(values, "request_handlers", "request_handler_idle_fraction", ("request_queue_time_ms",))
        or _below(values, "network_threads", "network_idle_fraction")
        or _busy_cores(values, BUSY_CPU_FRACTION)
        or _long_pauses(values)
        or _above(values, "network", "link_wait_fraction", LINK_WAIT_FRACTION, _LINK)
        or _in_flight(values, setting)
        or _buffer_memory(values, setting)
        or NONE_FOUND
    )


def number_in(values: Values, name: str) -> float | None:
    """Return a quantity as a number; None if it is missing or a text."""
    value = values.get(name)
    return float(value) if isinstance(value, int | float) else None


def _verdict(values: Values, code: Code, *names: str, **more: float) -> Verdict:
    found = {name: number for name in names if (number := number_in(values, name)) is not None}
    return Verdict(code, {**found, **more})


def _throttled(values: Values) -> Verdict | None:
    if (number_in(values, "produce_throttle_max_ms") or 0.0) <= 0:
        return None
    return _verdict(values, "throttled", "produce_throttle_max_ms", "throughput_mib_s")


def _client_limit(values: Values, setting: LoadSetting, ceilings: Ceilings | None) -> Verdict | None:
    """Find the limit of sending threads that hardly waited for Kafka: CPU, codec or the load generator itself.

    A thread that neither waits for Kafka nor runs waits for a core. If all cores are busy, the verdict is CPU, however
    little the load generator sends: it is the limit only if its threads have cores to themselves.

    Java's producer compresses in the thread that calls `send()`, and any program's producer with that codec would do
    so, so the verdict is CPU. With ceilings, the codec's share of CPU time is known. Without them, gzip and zstd are
    assumed to take more than half, because they are slower than the thread's other work; lz4 and snappy are not.
    """
    achieved = number_in(values, "throughput_records_s")
    limit = setting.rate_limit_records_s
    if limit is not None and achieved is not None and achieved >= REACHED_RATE_FRACTION * limit:
        return _verdict(values, "load_tool", "throughput_records_s", rate_limit_records_s=limit)
    if not values.get("generator_bound"):
        return None
    if not _has_its_cores(values, setting) and (busy := _busy_cores(values, BUSY_CPU_FRACTION)):
        return busy
    share = _codec_share(values, setting, ceilings) if setting.queue_bytes is None else None
    if share is None:
        # librdkafka's threads compress what waits in its queue: only if that was full were they too slow.
        was_full = (number_in(values, "buffer_wait_fraction") or 0.0) >= BUFFER_WAIT_FRACTION
        may_be_codec = setting.queue_bytes is None or was_full
        is_codec, known = may_be_codec and setting.property_of("compression.type") in _SLOW_CODECS, {}
    else:
        is_codec, known = share >= CODEC_SHARE, {"codec_fraction": share}
    if is_codec:
        names = ("sending_cpu_cores", "sending_wait_fraction", "throughput_mib_s", "host_cpu_busy_fraction")
        return _verdict(values, "cpu", *names, **known)
    if ceilings is not None:
        known["ceiling_records_s"] = ceilings.cores_for(setting.producers) * ceilings.generator_records_s
    return _verdict(values, "load_tool", "throughput_records_s", "sending_cpu_cores", "sending_wait_fraction", **known)


def _codec_share(values: Values, setting: LoadSetting, ceilings: Ceilings | None) -> float | None:
    """Return the share of the sending threads' CPU time that the codec takes; None if unknown."""
    codec = str(setting.property_of("compression.type"))
    sent_mib_s, cores = number_in(values, "throughput_mib_s"), number_in(values, "sending_cpu_cores")
    if codec == "none":
        return 0.0
    if ceilings is None or not ceilings.codec_mib_s.get(codec) or sent_mib_s is None or not cores:
        return None
    return min(sent_mib_s / ceilings.codec_mib_s[codec] / cores, 1.0)


def _has_its_cores(values: Values, setting: LoadSetting) -> bool:
    """Return whether the sending threads ran nearly all the time they did not wait for Kafka."""
    cores, waited = number_in(values, "sending_cpu_cores"), number_in(values, "sending_wait_fraction")
    if cores is None or waited is None:
        return False
    return cores >= OWN_CORE_FRACTION * setting.producers * (1 - waited)


def _busy_cores(values: Values, busy_fraction: float) -> Verdict | None:
    """Find a machine without a free core, or a container at its CPU limit."""
    names = ("sending_cpu_cores", "broker_cpu_cores")
    return _above(values, "cpu", "host_cpu_busy_fraction", busy_fraction, names) or _above(
        values, "cpu", "cpu_throttled_fraction", THROTTLED_PERIODS_FRACTION, names
    )


def _long_pauses(values: Values) -> Verdict | None:
    """Find long pauses that occur more than once."""
    if (number_in(values, "gc_pause_fraction") or 0.0) <= LONG_PAUSES_FRACTION:
        return None
    return _above(values, "gc", "gc_pause_longest_ms", LONG_PAUSE_MS, ("gc_pause_fraction",))


def _disk(values: Values, ceilings: Ceilings | None) -> Verdict | None:
    """Find a disk that stalls the machine, one that is busy while handlers are, or one with long flushes.

    A throttled disk, as in some virtual machines, looks idle while all tasks wait for it. Stalls are of this machine,
    so they count only if the brokers' disk is on it and has counters.
    """
    await_ms, busy = number_in(values, "disk_await_ms") or 0.0, number_in(values, "disk_busy_fraction") or 0.0
    stalled, handlers_idle = number_in(values, "io_stall_fraction"), number_in(values, "request_handler_idle_fraction")
    is_here = number_in(values, "disk_busy_fraction") is not None
    is_waited_for = is_here and stalled is not None and stalled > STALLED_FRACTION
    is_busy = await_ms > LONG_AWAIT_MS or busy > BUSY_DISK_FRACTION
    handlers_wait = handlers_idle is not None and handlers_idle < IDLE_FRACTION
    flush_s, flushes = number_in(values, "log_flush_s") or 0.0, number_in(values, "log_flushes_per_s") or 0.0
    is_flushed = flush_s >= FLUSH_S and flushes >= MANY_FLUSHES_PER_S
    if not (is_flushed or is_waited_for or (is_busy and handlers_wait)):
        return None
    known = (
        {} if ceilings is None or ceilings.disk_write_mib_s is None else {"ceiling_mib_s": ceilings.disk_write_mib_s}
    )
    names = ("disk_await_ms", "disk_busy_fraction", "disk_write_mib_s", "io_stall_fraction")
    return _verdict(values, "disk", *names, "log_flush_s", "log_flushes_per_s", **known)


def _in_flight(values: Values, setting: LoadSetting) -> Verdict | None:
    """Find connections at their maximum of unanswered requests.

    They limit the throughput to brokers x requests x request size / round trip; synchronous sends limit it to producers
    x record size / round trip.
    """
    if setting.is_synchronous and (number_in(values, "sending_wait_fraction") or 0.0) >= SYNCHRONOUS_WAIT_FRACTION:
        names = ("sending_wait_fraction", "unthrottled_request_latency_ms", "throughput_mib_s")
        return _verdict(values, "in_flight", *names, synchronous_producers=float(setting.producers))
    most = float(setting.property_of("max.in.flight.requests.per.connection")) * setting.producers
    in_flight = number_in(values, "in_flight_requests")
    if in_flight is None or in_flight < NEAR_FRACTION * most:
        return None
    names = ("in_flight_requests", "unthrottled_request_latency_ms", "throughput_mib_s")
    return _verdict(values, "in_flight", *names, most_in_flight_requests=most)


def _buffer_memory(values: Values, setting: LoadSetting) -> Verdict | None:
    waited = number_in(values, "buffer_wait_fraction")
    if waited is None or waited < BUFFER_WAIT_FRACTION:
        return None
    names = ("buffer_wait_fraction", "in_flight_requests")
    if setting.queue_bytes is not None:
        return _verdict(values, "buffer_memory", *names, queue_bytes=float(setting.queue_bytes))
    buffer_bytes = float(setting.property_of("buffer.memory"))
    return _verdict(values, "buffer_memory", *names, buffer_memory_bytes=buffer_bytes)


def _above(values: Values, code: Code, name: str, threshold: float, more: tuple[str, ...] = ()) -> Verdict | None:
    value = number_in(values, name)
    return _verdict(values, code, name, *more) if value is not None and value > threshold else None


def _below(values: Values, code: Code, name: str, more: tuple[str, ...] = ()) -> Verdict | None:
    value = number_in(values, name)
    return _verdict(values, code, name, *more) if value is not None and value < IDLE_FRACTION else None
