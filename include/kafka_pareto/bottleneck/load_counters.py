"""Declare the quantities that show the bottleneck of a load."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LoadCounters:
    """Counters of the measured time: the unthrottled phase of a timed load, else the whole load.

    None means not read or not applicable. If brokers differ, the value of the most loaded one counts.

    Attributes:
        counted_s: The measured time.
        host_cpu_busy_fraction: Busy share of all this machine's cores; waiting for a disk is idle.
        busiest_core_fraction: Busy share of the busiest core in each half second, averaged.
        cpu_throttled_fraction: Share of periods with load generator or broker at their container's CPU limit.
        io_stall_fraction: Share of the time that all tasks on this machine waited for a disk.
        broker_cpu_s: CPU time of all brokers over the whole load, warm-ups and pauses included.
        broker_cpu_cores: CPU seconds per second of all brokers.
        disk_await_ms: Mean time of a read, write or flush of the brokers' disk, queueing included.
        disk_busy_fraction: Share of the time with an operation pending on that disk.
        disk_write_mib_s: Write rate of that disk.
        nic_busy_fraction: Rate of the busier direction over the interface's speed; None on loopback.
        link_wait_fraction: Share of the time that the client's sent data was unacknowledged although the brokers'
            machines had space for it.
        round_trip_ms: TCP's round trip to the brokers at the end of the measured time.
        least_round_trip_ms: Its minimum over the last minutes.
        gc_pause_longest_ms: A broker's longest garbage collection pause.
        gc_pause_fraction: Share of the time that the broker was paused.
        later_gc_pause_longest_ms: Longest pause after the measured time, in the part at a fixed rate.
        network_idle_fraction: Idle share of the busiest network thread.
        request_handler_idle_fraction: Idle share of the request handlers (`num.io.threads`), averaged over threads.
        request_queue_requests: Mean number of produce requests waiting for a handler.
        request_queue_time_ms: Mean time a produce request waits for a handler.
        log_flush_s: Seconds per second that the broker's threads spend in log flushes.
        log_flushes_per_s: Number of those flushes per second.
        sending_cpu_cores: CPU seconds per second of the threads that call `send()`.
        sending_wait_fraction: Share of the time that those threads waited for Kafka.
        buffer_wait_fraction: Share of the time that `send()` waited for space in `buffer.memory`.
        in_flight_requests: Mean number of unanswered requests per broker, by Little's law.
        unthrottled_request_latency_ms: Mean round trip of a request in the unthrottled phase.
        unthrottled_batch_size_avg_bytes: Mean size of a sent batch in the unthrottled phase.
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
    """A part of a load, in seconds since its start."""

    begin_s: float
    end_s: float
