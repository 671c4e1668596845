"""Declare the quantities of a run of orders, each once, from the processes' answers to the tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from kafka_pareto.bottleneck.load_counters import LoadCounters
from kafka_pareto.study.quantity import Quantities, Shown, quantities_of


@dataclass(frozen=True)
class OrderFigures:
    """Rate and latency of order confirmations.

    Latency runs from an order's creation (at a rate: its due time) to its confirmation at the hospital. The hops are
    means between the brokers' append times (placing, confirming, shipping); notifying runs from there to the client.

    Attributes:
        orders_s: Confirmed orders over the time from the first one sent to the last confirmation.
        sending_s: From the first order sent to the last one.
        request_ms: Mean time from a produce request of the hospital to its answer.
        jitter_ms: Mean absolute difference of successive latencies, in order of arrival.
        smoothed_jitter_ms: The interarrival jitter of RFC 3550.
        completing_ms: Mean time from an order's creation until the client has seen it confirmed and delivered.
        open_slope_s: Growth of the number of open orders, per second.
        silent_s: The longest time between two confirmations.
        services_cpu_ms_per_order: CPU time of all services and the client.
        brokers_cpu_ms_per_order: CPU time of all brokers.
    """

    orders_s: Annotated[float, Shown("orders", maximised=True)]
    latency_mean_ms: Annotated[float, Shown("mean latency", maximised=False)]
    latency_p50_ms: Annotated[float, Shown("p50 latency", maximised=False)]
    latency_p95_ms: Annotated[float, Shown("p95 latency", maximised=False)]
    latency_p99_ms: Annotated[float, Shown("p99 latency", maximised=False)]
    jitter_ms: Annotated[float | None, Shown("jitter", maximised=False)] = None
    smoothed_jitter_ms: Annotated[float | None, Shown("jitter by RFC 3550", maximised=False)] = None
    request_ms: Annotated[float | None, Shown("request time", maximised=False)] = None
    sending_s: float | None = None
    placing_ms: Annotated[float | None, Shown("placing", maximised=False)] = None
    confirming_ms: Annotated[float | None, Shown("confirming", maximised=False)] = None
    shipping_ms: Annotated[float | None, Shown("shipping", maximised=False)] = None
    notifying_ms: Annotated[float | None, Shown("notifying", maximised=False)] = None
    completing_ms: Annotated[float | None, Shown("completing", maximised=False)] = None
    open_slope_s: float | None = None
    silent_s: Annotated[float | None, Shown("longest gap", maximised=False)] = None
    services_cpu_ms_per_order: Annotated[float | None, Shown("services' CPU per order", maximised=False)] = None
    brokers_cpu_ms_per_order: Annotated[float | None, Shown("brokers' CPU per order", maximised=False)] = None


@dataclass(frozen=True)
class ProduceTimes:
    """The brokers' metrics of the produce requests of all services: means, and replicated bytes.

    Attributes:
        produce_total_ms: From a request's arrival to the end of its response.
        produce_queue_ms: Of that, waiting for a handler.
        produce_local_ms: Appending on the leader.
        produce_remote_ms: Waiting for the followers.
        produce_response_ms: Waiting for the connection, and sending.
        replicated_mib: Copied by followers meanwhile.
    """

    produce_total_ms: Annotated[float | None, Shown("produce at the brokers", maximised=False)] = None
    produce_queue_ms: Annotated[float | None, Shown("of it queueing", maximised=False)] = None
    produce_local_ms: Annotated[float | None, Shown("of it appending", maximised=False)] = None
    produce_remote_ms: Annotated[float | None, Shown("of it replication", maximised=False)] = None
    produce_response_ms: Annotated[float | None, Shown("of it the response", maximised=False)] = None
    replicated_mib: float | None = None


@dataclass(frozen=True)
class FaultFigures:
    """The effects of an injected fault.

    Attributes:
        full_isr_s: From its end until every replica was in sync again; None if none was seen missing (the fault ended
            before the brokers noticed), if one still was after two minutes, or if no broker had a fault.
        recovered_s: From its start until the p95 latency stayed near its earlier level: at most twice the median of the
            seconds before, or their maximum. Seconds count once the fault is over and all replicas are in sync.
    """

    full_isr_s: Annotated[float | None, Shown("all in sync again", maximised=False)] = None
    recovered_s: Annotated[float | None, Shown("former p95 again", maximised=False)] = None


@dataclass(frozen=True)
class ServicesQuantities(Quantities):
    """All quantities of one repetition.

    Attributes:
        orders_placed: Sent by the hospital; None, like all others, if it did not report.
        orders_confirmed: Confirmations at the hospital.
        orders_complete: Seen by the client as confirmed, picked up and delivered.
        repeats_dropped: Duplicate confirmations at the hospital and events at the client, recognized by id.
        events_repeated: Of these, the events.
        orders_out_of_order: Seen as delivered before picked up; with partitioning by key that invalidates the
            repetition, unless partitions were added meanwhile.
        orders_overtaken: Confirmed after a later one of the same key.
        alerts_raised: By the monitor, meanwhile.
        alerts_cleared: Likewise.
        figures: None if nothing was confirmed.
        produce: Empty if a broker was started meanwhile.
        fault: Empty without a fault.
        generator_bound: Why the hospital was the bottleneck; empty if the services were.
    """

    orders_placed: int | None = None
    orders_confirmed: int | None = None
    orders_complete: int | None = None
    repeats_dropped: int | None = None
    events_repeated: int | None = None
    orders_out_of_order: Annotated[int | None, Shown("orders out of order", maximised=False)] = None
    orders_overtaken: Annotated[int | None, Shown("orders overtaken", maximised=False)] = None
    alerts_raised: int | None = None
    alerts_cleared: int | None = None
    figures: OrderFigures | None = None
    produce: ProduceTimes = ProduceTimes()
    fault: FaultFigures = FaultFigures()
    generator_bound: str = ""
    counters: LoadCounters = LoadCounters()  # noqa: RUF009 (frozen)


SERVICES_QUANTITIES = quantities_of(ServicesQuantities)
