"""Decide from the load generator's figures whether it, not Kafka, was the bottleneck of a repetition.

Such a repetition measures this machine's sending rate, not Kafka's throughput: differences between configurations may
be hidden.
"""

from __future__ import annotations

import math
from dataclasses import replace

from kafka_pareto.analysis.wording import share
from kafka_pareto.bottleneck.load_counters import LoadCounters, LoadWindow
from kafka_pareto.drivers.common.load_tool import LoadFigures, LoadRequest, LoadResult

# Cold bursts start a JVM: 3,050 recorded ones used up to 0.87 of two cores without being limited by them.
_SATURATED_FRACTION = 0.9
_NEVER_WAITED_FRACTION = 0.05
_HARDLY_WAITED_FRACTION = 0.2
_SUSTAINED_FRACTION = 0.97
_BUFFERS_SENT = 4.0
_SLOW_MACHINE_FRACTION = 0.8
_ENOUGH_RECORDS = 200
# A cold JVM of the generator sends its first record 0.6 to 1.2 s after it was started, on 2 cores.
_JVM_START_S = 1.0
_LEAD_S = 0.5


def generator_bound(request: LoadRequest, result: LoadResult, cores: float) -> str:
    """Return why the load tool was the bottleneck; empty without evidence.

    Args:
        request: To the tool.
        result: Its answer.
        cores: Processor cores it could use, fractional in a container.
    """
    if result.figures is None:
        return ""
    saturated = _saturation(result, cores)
    if not saturated and (slow := _slow_machine(result)):
        return slow
    reason = (
        saturated
        or _sending_hardly_waited(request, result, result.figures)
        or _paced_too_slowly(request, result, result.figures)
    )
    return reason and f"{reason}{_needed_machines(result, result.figures)}"


def _saturation(result: LoadResult, cores: float) -> str:
    """Report a bottleneck if the tool's process used all its cores, JVM start and compilation included."""
    loading_s = result.wall_s - result.settling_s
    clients = [(f"load machine {each.address}", each.cpu_s, each.cores) for each in result.machines]
    for name, cpu_s, its_cores in clients or [("load generator", result.client_cpu_s, cores)]:
        if (used := cpu_s / (its_cores * loading_s)) >= _SATURATED_FRACTION:
            known = "one core" if its_cores == 1 else f"{its_cores:.3g} cores"
            return f"the {name} was the bottleneck: it used {share(used)} of {known} for {loading_s:.1f} s"
    return ""


def _slow_machine(result: LoadResult) -> str:
    """Report a bottleneck if one load machine sent much less than the others; all have as many producers."""
    if len(result.machines) < 2:
        return ""
    slowest = min(result.machines, key=lambda each: each.records)
    others = [each.records for each in result.machines if each is not slowest]
    usual = sum(others) / len(others)
    if usual < _ENOUGH_RECORDS or slowest.records >= _SLOW_MACHINE_FRACTION * usual:
        return ""
    sent = slowest.records / usual
    return (
        f"the load machine {slowest.address} was the bottleneck: it sent {share(sent)} of the others' average number "
        "of records"
    )


def _needed_machines(result: LoadResult, figures: LoadFigures) -> str:
    """Return the number of machines needed for the fixed rate; empty if there was none, or it was reached."""
    due, sent = figures.paced_rate_asked_records_s, figures.paced_rate_records_s
    if not due or not sent or sent >= _SUSTAINED_FRACTION * due:
        return ""
    needed = math.ceil(due / sent * max(len(result.machines), 1))
    return f"; about {needed} such machines are needed for the fixed rate"


def _sending_hardly_waited(request: LoadRequest, result: LoadResult, figures: LoadFigures) -> str:
    """Report a bottleneck if the sending thread hardly waited at full speed.

    That thread creates, serializes and compresses the records and calls `send()`. If it hardly waits for Kafka, it is
    the bottleneck. With several producers, waits and seconds are summed over their threads.
    """
    if request.timed is None:
        return _kafkas_tool_hardly_waited(request, result, figures)
    waited_s, limit = result.unthrottled_wait_s, request.throughput_records_s
    seconds = None if result.unthrottled_s is None else request.producers * result.unthrottled_s
    # Recorded at 8,192 B, with the waits of a warm-up of 1 s among them: up to 0.02 with gzip and 0.20 with zstd, from
    # 0.34 with lz4, from 0.76 without compression.
    if not seconds or waited_s is None or waited_s > _HARDLY_WAITED_FRACTION * seconds:
        return ""
    sent_records_s = result.unthrottled_sent_records_s
    if limit is not None and sent_records_s is not None and sent_records_s >= _SUSTAINED_FRACTION * limit:
        return ""
    cpu = "" if result.sending_cpu_s is None else f" and used {result.sending_cpu_s:.1f} s of CPU time"
    return f"{_bound_by_threads(request.producers, waited_s, seconds)}{cpu}"


def _kafkas_tool_hardly_waited(request: LoadRequest, result: LoadResult, figures: LoadFigures) -> str:
    """Report a bottleneck if Kafka's tool hardly waited. It does not report the duration of its end.

    Records that fit the buffer are accepted immediately, however slow Kafka is; only those beyond buffer.memory are
    evidence. Of a load of four buffers, Kafka must have accepted three during sending, or `send()` would have waited.
    """
    rate, waited_s, limit = figures.throughput_records_s, result.client.buffer_wait_s, request.throughput_records_s
    seconds = result.records_sent / rate
    if waited_s is None or waited_s > _NEVER_WAITED_FRACTION * seconds:
        return ""
    buffers_sent = result.records_sent * request.record_size_bytes / request.buffer[0]
    if buffers_sent < _BUFFERS_SENT:
        return ""
    # The shortfall, in buffers: records sent on time lag by at most one. Beyond two, they were sent late.
    if limit is not None and (limit / rate - 1) * buffers_sent <= 2.0:
        return ""
    return _bound_by_threads(1, waited_s, seconds)


def _bound_by_threads(threads: int, waited_s: float, seconds: float) -> str:
    who, total = ("sending thread", "") if threads == 1 else (f"{threads} sending threads", " in total")
    return (
        f"the load generator was the bottleneck: its {who} (creating, serializing and compressing records) waited for "
        f"Kafka for only {waited_s:.2f} of {seconds:.1f} s{total}"
    )


def _paced_too_slowly(request: LoadRequest, result: LoadResult, figures: LoadFigures) -> str:
    """Report a bottleneck if the fixed rate was missed although the buffer had room: records were sent late."""
    due, sent = figures.paced_rate_asked_records_s, figures.paced_rate_records_s
    client, from_send_ms = result.client, figures.latency_from_send_p95_ms
    if request.timed is None or due is None or sent is None or client.buffer_wait_s is None or from_send_ms is None:
        return ""
    waited_s = client.kafka_wait_s
    seconds = request.timed.paced_seconds
    if sent >= _SUSTAINED_FRACTION * due or waited_s > _NEVER_WAITED_FRACTION * request.producers * seconds:
        return ""
    # Latency from the due time exceeds that from send() by how late the record was sent. A slow end of the load, which
    # is Kafka's, delays acknowledgements without delaying the sending.
    late_s = (figures.latency_p95_ms - from_send_ms) / 1000
    if late_s < (1 - sent / due) * seconds / 2:
        return ""
    return (
        f"the load generator missed the fixed rate: it sent {sent:.0f} of {due:.0f} records/s, up to {late_s:.2f} s "
        "late, although the buffer had room"
    )


def with_client(counters: LoadCounters, request: LoadRequest, result: LoadResult, brokers: int) -> LoadCounters:
    """Return the counters with those of the client's unthrottled phase.

    Args:
        counters: Counted from outside.
        request: To the load tool.
        result: Its answer.
        brokers: Brokers that lead a partition of the topic; each has its own requests in flight.
    """
    figures, client = result.figures, result.unthrottled_client or result.client
    if figures is None or (request.timed is not None and not result.unthrottled_s):
        return counters
    seconds = result.unthrottled_s or result.records_sent / figures.throughput_records_s
    threads_s = request.producers * seconds  # waits are those of all producers' threads together
    wait_s, buffer_s, cpu_s = result.unthrottled_wait_s, client.buffer_wait_s, result.sending_cpu_s
    records_per_request, latency_ms = client.records_per_request_avg, client.request_latency_avg_ms
    in_flight_requests = None
    if records_per_request and latency_ms is not None:  # Little's law: their rate times their round trip
        in_flight_requests = figures.throughput_records_s / records_per_request * latency_ms / 1000 / brokers
    return replace(
        counters,
        sending_cpu_cores=None if cpu_s is None else cpu_s / seconds,
        sending_wait_fraction=None if wait_s is None else min(wait_s / threads_s, 1.0),
        buffer_wait_fraction=None if buffer_s is None else min(buffer_s / threads_s, 1.0),
        in_flight_requests=in_flight_requests,
        unthrottled_request_latency_ms=latency_ms,
        unthrottled_batch_size_avg_bytes=client.batch_size_avg_bytes,
    )


def expected_window(request: LoadRequest, *, jvm_is_warm: bool = False) -> LoadWindow | None:
    """Return when the first part's measured sending is expected; None for a load of a fixed number of records.

    Only that part shows the bottleneck: at the fixed rate every resource has reserves. The window begins
    during the part's warm-up, when reading the brokers disturbs no measurement.
    """
    timed = request.timed
    if timed is None:
        return None
    is_unthrottled = timed.seconds > 0
    warmup_s = timed.warmup_s if is_unthrottled else timed.paced_warmup_s
    begin_s = (0.0 if jvm_is_warm else _JVM_START_S) + warmup_s
    return LoadWindow(max(begin_s - _LEAD_S, 0.0), begin_s + (timed.seconds if is_unthrottled else timed.paced_seconds))


def measured_window(result: LoadResult) -> LoadWindow | None:
    """Return when the unthrottled phase's measured sending took place; None if the tool does not report it."""
    if result.unthrottled_began_s is None or result.unthrottled_s is None:
        return None
    return LoadWindow(result.unthrottled_began_s, result.unthrottled_began_s + result.unthrottled_s)
