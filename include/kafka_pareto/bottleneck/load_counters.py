"""Declare the quantities that tell which resource limited a load, and which part of the load they are of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LoadCounters:
    """Counters of a load while it was sent as fast as it goes. None: not read, or not applicable.

    Where brokers differ, the value is of the one that has least to spare.

    Attributes:
        counted_s: Length of the time that was counted: the unthrottled part of a timed load, else the whole load.
        host_cpu_busy_fraction: Of all cores of this machine together; waiting for a disk is not busy.
        busiest_core_fraction: Of the busiest core in each half second, averaged.
        cpu_throttled_fraction: Share of the periods in which load tool or broker ran into their container's CPU limit.
        io_stall_fraction: Share of the time in which nothing ran on this machine because all waited for a disk.
        broker_cpu_s: CPU time of all brokers over the whole load, warm-ups and pauses included.
        broker_cpu_cores: CPU seconds of all brokers in each second that was counted.
        disk_await_ms: Mean time of a read, write or flush of the brokers' disk, queueing included.
        disk_busy_fraction: Share of the time in which that disk had anything to do.
        disk_write_mib_s: Rate at which it was written.
        nic_busy_fraction: Rate of the busier direction over the interface's speed; None on loopback.
        link_wait_fraction: Share of the time in which data that the client had sent was not acknowledged by the
            brokers' machines, though they had room for it.
        round_trip_ms: TCP's round trip to the brokers at the end of the time that was counted.
        least_round_trip_ms: The shortest one of the last minutes.
        gc_pause_longest_ms: Longest pause of a broker for a garbage collection.
        gc_pause_fraction: Share of the time in which the broker was paused.
        later_gc_pause_longest_ms: Longest pause after the time that was counted: while a load with a fixed rate settled
            and was sent at it.
        network_idle_fraction: Share of the time that the busiest network thread waited for something to do.
        request_handler_idle_fraction: The same of the request handlers (`num.io.threads`), averaged over the threads.
        request_queue_requests: Mean number of produce requests that waited for a handler.
        request_queue_time_ms: Mean time that a produce request waited for a handler.
        log_flush_s: Seconds that the broker's threads spent in flushes of the log, in each second that was counted.
        log_flushes_per_s: Number of those flushes.
        sending_cpu_cores: CPU seconds of the threads that call `send()`, in each second.
        sending_wait_fraction: Share of the time in which they waited for Kafka.
        buffer_wait_fraction: Share of the time in which `send()` waited for room in `buffer.memory`.
        in_flight_requests: Mean number of unanswered requests for each broker, by Little's law.
        unthrottled_request_latency_ms: Mean round trip of a request, in the unthrottled part.
        unthrottled_batch_size_avg_bytes: Mean size of a batch as it was sent, in that part.
    """

    counted_s: float | None = None
    host_cpu_busy_fraction: float | None = None
    busiest_core_fraction: float | None = None
    cpu_throttled_fraction: float | None = None
    io_stall_fraction: float | None = None
    broker_cpu_s: float | None = None
    broker_cpu_cores: float | None = None
    disk_await_ms: float | None = None
    disk_busy_fraction: float | None = None
    disk_write_mib_s: float | None = None
    nic_busy_fraction: float | None = None
    link_wait_fraction: float | None = None
    round_trip_ms: float | None = None
    least_round_trip_ms: float | None = None
    gc_pause_longest_ms: float | None = None
    gc_pause_fraction: float | None = None
    later_gc_pause_longest_ms: float | None = None
    network_idle_fraction: float | None = None
    request_handler_idle_fraction: float | None = None
    request_queue_requests: float | None = None
    request_queue_time_ms: float | None = None
    log_flush_s: float | None = None
    log_flushes_per_s: float | None = None
    sending_cpu_cores: float | None = None
    sending_wait_fraction: float | None = None
    buffer_wait_fraction: float | None = None
    in_flight_requests: float | None = None
    unthrottled_request_latency_ms: float | None = None
    unthrottled_batch_size_avg_bytes: float | None = None


@dataclass(frozen=True)
class LoadWindow:
    """A part of a load, in seconds since the load was begun."""

    begin_s: float
    end_s: float
