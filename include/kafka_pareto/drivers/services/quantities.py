"""Declares the quantities of orders that services hand on: each once, from the processes' answers to the tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from kafka_pareto.bottleneck.load_counters import LoadCounters
from kafka_pareto.study.quantity import Quantities, Shown, quantities_of


@dataclass(frozen=True)
class OrderFigures:
    """Holds how fast orders were confirmed, and how long each took.

    Latency runs from the time at which an order was created (at a rate: was due) to the one at which the hospital holds
    its confirmation. The hops are means, between the brokers' times of appending: placing an order, confirming it,
    shipping it; notifying runs from there to the client.

    Attributes:
        orders_s: Orders confirmed over the time from the first one sent to the last confirmation.
        sending_s: From the first order sent to the last one.
        request_ms: The mean time from a request of the hospital's producer to its answer.
        jitter_ms: The mean absolute difference of successive latencies, in the order of arrival.
        smoothed_jitter_ms: The interarrival jitter of RFC 3550.
        completing_ms: From an order's creation until the client has seen it confirmed and delivered; the mean.
        open_slope_s: By how many orders in each second the number of those that wait grew.
        silent_s: The longest time between two confirmations.
        services_cpu_ms_per_order: CPU time of all services and the client.
        brokers_cpu_ms_per_order: CPU time of all brokers.
    """

    orders_s: Annotated[float, Shown("orders", maximised=True)]
    latency_mean_ms: Annotated[float, Shown("latency", maximised=False)]
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
    silent_s: Annotated[float | None, Shown("longest silence", maximised=False)] = None
    services_cpu_ms_per_order: Annotated[float | None, Shown("services' CPU for an order", maximised=False)] = None
    brokers_cpu_ms_per_order: Annotated[float | None, Shown("brokers' CPU for an order", maximised=False)] = None


@dataclass(frozen=True)
class ProduceTimes:
    """Holds what the brokers say of the produce requests of all services: means, and what replication copied.

    Attributes:
        produce_total_ms: From a request's arrival to the end of its answer.
        produce_queue_ms: Of that, waiting for a handler.
        produce_local_ms: Appending on the leader.
        produce_remote_ms: Waiting for the followers.
        produce_response_ms: Waiting for the connection, and sending.
        replicated_mib: What followers copied meanwhile.
    """

    produce_total_ms: Annotated[float | None, Shown("produce at the brokers", maximised=False)] = None
    produce_queue_ms: Annotated[float | None, Shown("of it queueing", maximised=False)] = None
    produce_local_ms: Annotated[float | None, Shown("of it appending", maximised=False)] = None
    produce_remote_ms: Annotated[float | None, Shown("of it replication", maximised=False)] = None
    produce_response_ms: Annotated[float | None, Shown("of it the response", maximised=False)] = None
    replicated_mib: float | None = None


@dataclass(frozen=True)
class FaultFigures:
    """Holds what a fault that was made on purpose did.

    Attributes:
        full_isr_s: From its end until every replica was in sync again; None where none was seen missing, as where it
            is over before the brokers notice, where one still was after two minutes, and where no broker was broken.
        recovered_s: From its beginning until the p95 latency was near the one before again, and stayed there: at most
            twice its median, or as much as its slowest second. Seconds count once the fault is over and all replicas
            are in sync.
    """

    full_isr_s: Annotated[float | None, Shown("all in sync again", maximised=False)] = None
    recovered_s: Annotated[float | None, Shown("former p95 again", maximised=False)] = None


@dataclass(frozen=True)
class ServicesQuantities(Quantities):
    """Holds all quantities of one repetition.

    Attributes:
        orders_placed: As many as the hospital sent; None, as all others, where it did not say.
        orders_confirmed: As many as it holds a confirmation of.
        orders_complete: As many as the client has seen confirmed, picked up and delivered.
        repeats_dropped: Confirmations that the hospital, and events that the client, got again, and knew by their ids.
        events_repeated: Of these, the events.
        orders_out_of_order: Seen as delivered before they were seen as picked up; by key that makes it invalid, unless
            partitions were added meanwhile.
        orders_overtaken: Confirmed after a later one of the same key.
        alerts_raised: By the monitor, meanwhile.
        alerts_cleared: The same.
        figures: None where nothing was confirmed.
        produce: Empty where a broker was started meanwhile.
        fault: Empty where none was made.
        generator_bound: Why the hospital's own pace set that of the orders; empty where the chain did.
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
