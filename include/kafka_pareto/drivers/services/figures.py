"""Compute the quantities of a repetition from the reports of hospital and client."""

from __future__ import annotations

from kafka_pareto.analysis.recovery import seconds_to_former_p95
from kafka_pareto.analysis.wording import share
from kafka_pareto.bottleneck.load_counters import LoadCounters
from kafka_pareto.campaign.records import Timeline
from kafka_pareto.drivers.services.fault import FaultRecord
from kafka_pareto.drivers.services.orders import OrdersRun
from kafka_pareto.drivers.services.programs.messages import Record
from kafka_pareto.drivers.services.quantities import FaultFigures, OrderFigures, ServicesQuantities
from kafka_pareto.drivers.services.studies import Load
from kafka_pareto.study.faults import NOTIFICATION_KILLED

_MS = 1e3
_BOUND_FRACTION = 0.9
_AS_REPORTED = ("orders_s", "jitter_ms", "smoothed_jitter_ms", "request_ms", "sending_s", "open_slope_s", "silent_s")


def quantities(
    orders_run: OrdersRun, load: Load, counters: LoadCounters, script_orders_s: float | None
) -> ServicesQuantities:
    """Return the quantities of completed orders.

    Args:
        orders_run: The outcome.
        load: How they were placed; totals over all rates of a search are omitted.
        counters: Resource use of brokers and machine meanwhile.
        script_orders_s: The hospital's rate without services.
    """
    placed, seen = orders_run.placed, orders_run.seen
    counters = LoadCounters() if load.kind == "capacity" else counters
    states = [each["state"] for each in seen["alerts"]]
    return ServicesQuantities(
        orders_placed=placed["sent"],
        orders_confirmed=placed["confirmed"],
        orders_complete=seen["complete"],
        repeats_dropped=placed["repeated"] + seen["repeated"],
        events_repeated=seen["repeated"],
        orders_out_of_order=seen["out_of_order"],
        orders_overtaken=placed["overtaken"],
        alerts_raised=states.count("raised"),
        alerts_cleared=states.count("cleared"),
        figures=_order_figures(orders_run, counters),
        fault=fault_figures(orders_run.fault, placed, orders_run.asked.skip_s) if orders_run.fault else FaultFigures(),
        generator_bound=bound_of(placed, load, script_orders_s),
        counters=counters,
    )


def _order_figures(orders_run: OrdersRun, counters: LoadCounters) -> OrderFigures | None:
    placed, seen = orders_run.placed, orders_run.seen
    latency = placed["latency"]
    if not latency or not placed["orders_s"]:
        return None
    per_order = _MS / placed["confirmed"]
    hops = {name: placed[name] for name in ("placing", "confirming")}
    hops |= {name: seen[name] for name in ("shipping", "notifying", "completing")}
    means: Record = {f"{name}_ms": hop["mean_ms"] if hop else None for name, hop in hops.items()}
    return OrderFigures(
        **{name: placed[name] for name in _AS_REPORTED},
        **{f"latency_{name}": value for name, value in latency.items()},
        **means,
        services_cpu_ms_per_order=orders_run.chain_cpu_s * per_order,
        brokers_cpu_ms_per_order=None if counters.broker_cpu_s is None else counters.broker_cpu_s * per_order,
    )


def bound_of(placed: Record, load: Load, script_orders_s: float | None) -> str:
    """Return why the ordering script, not the services, was the bottleneck; empty if it was not.

    It was if it placed orders almost as fast as it can alone, or if sending a burst took almost all of the time until
    the last confirmation.
    """
    orders_s = placed["orders_s"]
    if not orders_s:
        return ""
    if script_orders_s and orders_s > _BOUND_FRACTION * script_orders_s:
        return (
            f"the ordering script was the bottleneck: {orders_s:,.0f} orders/s, compared with {script_orders_s:,.0f} "
            "orders/s without services"
        )
    sending = placed["sending_s"] / (placed["ended_at"] - placed["began_at"])
    if load.kind == "burst" and sending >= _BOUND_FRACTION:
        return (
            f"the ordering script was the bottleneck: it sent for {share(sending)} of the time to the last confirmation"
        )
    return ""


def fault_figures(fault: FaultRecord, placed: Record, skip_s: float) -> FaultFigures:
    """Return the effects of a fault; the latency before it excludes the first `skip_s` seconds of orders."""
    recovered_s = None
    # A confirmation does not pass through the notification.
    if fault.kind != NOTIFICATION_KILLED and fault.whole_at is not None:
        began_s, whole_s = (at - placed["began_at"] for at in (fault.began_at, fault.whole_at))
        recovered_s = seconds_to_former_p95(placed["seconds"], began_s, whole_s, skip_s)
    return FaultFigures(full_isr_s=fault.full_isr_s, recovered_s=recovered_s)


def timeline_of(fault: FaultRecord, placed: Record) -> Timeline:
    """Return the confirmations in each second around a fault."""
    return Timeline(
        what=fault.what,
        began_s=fault.began_at - placed["began_at"],
        ended_s=fault.ended_at - placed["began_at"],
        done=[number for number, _ in placed["seconds"]],
        latency_p95_ms=[p95_ms for _, p95_ms in placed["seconds"]],
    )
