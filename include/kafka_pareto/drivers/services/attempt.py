"""Attempts a repetition of services: has orders handed on, and judges them by what hospital and client hold."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from secrets import token_hex

import numpy as np
import psutil

from kafka_pareto.analysis.recovery import seconds_to_former_p95
from kafka_pareto.bottleneck.host_counters import HostCounters
from kafka_pareto.bottleneck.load_window import LoadWindow
from kafka_pareto.campaign.records import Outcome, Timeline
from kafka_pareto.drivers.services.fault import Fault, FaultRecord
from kafka_pareto.drivers.services.orders import CapacityError, HandedOn, find_capacity, hand_on
from kafka_pareto.drivers.services.produce_times import produce_times, read_all
from kafka_pareto.drivers.services.testbed import OpenTopology, ServicesTestbed
from kafka_pareto.errors import ClusterError, LoadStartError, LoadToolError
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.measurement.host_load import cpu_fractions, outlier_reason
from kafka_pareto.measurement.repetition_runner import Attempt
from kafka_pareto.services.hospital import Asked
from kafka_pareto.services.messages import Record
from kafka_pareto.study.compare_services import CompareServices
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.faults import CHANGING_THE_CLUSTER, NO_FAULT, NOTIFICATION_KILLED, PARTITIONS_ADDED
from kafka_pareto.study.load_counters import LoadCounters
from kafka_pareto.study.services_quantities import FaultFigures, OrderFigures, ServicesQuantities

_MS = 1e3
_SCRIPT_BOUND_FRACTION = 0.9


def attempt_orders(planned: PlannedRepetition, study: CompareServices, testbed: ServicesTestbed) -> Attempt:
    """Has the orders of a level handed on by services that run, and judges what came of it."""
    configuration = planned.candidate.configuration
    opened = testbed.topology_for(configuration)
    started_at, cpu_before, began_at = datetime.now(UTC).isoformat(), psutil.cpu_times(), time.time()
    chain_before_s = opened.chain.cpu_s()
    handed: HandedOn | None = None
    reason, is_excused = "", False
    before = read_all(opened.brokers)
    counted = HostCounters(None, opened.brokers, ("127.0.0.1",))
    with counted:
        counted_from = time.time()
        try:
            handed = _handed_on(planned, study, testbed, opened)
        except CapacityError as error:
            reason = str(error)
        except (LoadToolError, LoadStartError, ClusterError) as error:
            # A service or a broker that ends by itself is no fault of the level's: it is measured again.
            reason, is_excused = str(error), True
    chain_cpu_s = max(opened.chain.cpu_s() - chain_before_s, 0.0)
    steal, other = cpu_fractions(cpu_before, psutil.cpu_times(), chain_cpu_s)
    found = ServicesQuantities(int(study.effective(configuration)["orders"]))
    outcome: Outcome = "failed"
    judged = reason
    timeline: Timeline | None = None
    if handed:
        placed = handed.placed
        window = (
            LoadWindow(placed["began_at"] - counted_from, placed["ended_at"] - counted_from)
            if placed["confirmed"]
            else None
        )
        found = _quantities(handed, counted.counters(window), testbed.script_orders_s)
        if study.load_of(configuration).kind == "capacity":
            found = _of_the_last_rate(found)
        else:
            found = replace(found, produce=produce_times(before, read_all(opened.brokers)))
        outcome, judged = judge(handed, keeps_order=_keeps_order(study, configuration))
        if outcome == "valid":
            judged = found.generator_bound
        timeline = _timeline(handed.fault, placed) if handed.fault else None
    if outcome != "valid" or study.effective(configuration)["fault"] in CHANGING_THE_CLUSTER:
        # Neither orders that are left nor partitions, leaders that have moved, or a broker that is cold, must reach the
        # next level.
        testbed.end_topology()
    outlier = outlier_reason(study.protocol.outliers, steal, other if handed else 0.0)
    if outlier and outcome in ("valid", "failed"):
        outcome, judged, is_excused = "failed", f"{outlier}; {judged}" if judged else outlier, True
    return Attempt(
        outcome=outcome,
        reason=judged,
        is_excused=is_excused,
        trouble=None,
        started_at=started_at,
        quantities=found.values(),
        wall_s=time.time() - began_at,
        client_cpu_s=chain_cpu_s,
        cpu_steal_fraction=steal,
        other_cpu_fraction=other,
        timeline=timeline,
    )


def _handed_on(
    planned: PlannedRepetition, study: CompareServices, testbed: ServicesTestbed, opened: OpenTopology
) -> HandedOn:
    """Has the orders handed on, by the load that the level asks for.

    Raises:
        CapacityError: If not even one order a second is held.
        LoadToolError: If a service has ended by itself.
    """
    configuration, protocol = planned.candidate.configuration, study.protocol
    found, load = study.effective(configuration), study.load_of(configuration)
    # Each attempt's orders have ids of their own.
    run = f"{planned.candidate.configuration_id}.{planned.block}.{token_hex(4)}"
    asked = Asked(run, int(found["orders"]), hospitals=int(found["hospitals"]), timeout_s=protocol.timeout_s)
    if load.kind == "capacity":
        seeds = [study.seed, planned.block, int(planned.candidate.configuration_id[1:], 16)]
        offset = np.random.default_rng(seeds).uniform(-0.5, 0.5)
        return find_capacity(opened, asked, protocol.capacity, testbed.guesses_orders_s, offset)
    if load.kind == "burst":
        return hand_on(opened, asked)
    rate_s, paced_s = testbed.rate_of(configuration), protocol.paced_warmup_s + int(found["paced_s"])
    paced = replace(
        asked,
        orders=max(round(rate_s * paced_s), 1),
        rate_s=rate_s,
        skip_s=protocol.paced_warmup_s,
        timeout_s=paced_s + protocol.timeout_s,
    )
    kind = str(found["fault"])
    return hand_on(opened, paced, None if kind == NO_FAULT else Fault(kind, protocol.fault))


def _keeps_order(study: CompareServices, level: Configuration) -> bool:
    """Says whether records of a key follow each other: a key goes elsewhere once there are more partitions."""
    is_moved = study.effective(level)["fault"] == PARTITIONS_ADDED
    return study.topology_of(level)[1].partitioning == "key" and not is_moved


def judge(handed: HandedOn, *, keeps_order: bool) -> tuple[Outcome, str]:
    """Judges whether every order came to its end; where no fault was made, also whether none came again.

    Only partitioning by key `keeps_order`: elsewhere what was seen out of order is counted, and no fault of anybody's.
    """
    asked, placed, seen = handed.asked, handed.placed, handed.seen
    if placed["failure"]:
        return "failed", f"the hospital could not place its orders: {placed['failure']}"
    if placed["sent"] != asked.orders:
        return "failed", f"{placed['sent']} of {asked.orders} orders were placed within {asked.timeout_s:g} s"
    if handed.lost:
        return (
            "records_lost",
            f"{handed.lost} of {asked.orders} orders did not come to their end within {asked.timeout_s:g} s",
        )
    repeated = placed["repeated"] + seen["repeated"]
    if repeated and handed.fault is None:
        return "records_duplicated", f"{repeated} confirmations or events came again"
    if keeps_order and seen["out_of_order"]:
        return "failed", f"{seen['out_of_order']} orders were delivered before they were picked up"
    return "valid", ""


def _quantities(handed: HandedOn, counters: LoadCounters, script_orders_s: float | None) -> ServicesQuantities:
    placed, seen = handed.placed, handed.seen
    latency = placed["latency"]
    figures = None
    bound = ""
    if latency and placed["orders_s"]:
        per_order = _MS / placed["confirmed"]
        figures = OrderFigures(
            orders_s=placed["orders_s"],
            latency_mean_ms=latency["mean_ms"],
            latency_p50_ms=latency["p50_ms"],
            latency_p95_ms=latency["p95_ms"],
            latency_p99_ms=latency["p99_ms"],
            jitter_ms=placed["jitter_ms"],
            smoothed_jitter_ms=placed["smoothed_jitter_ms"],
            request_ms=placed["request_ms"],
            sending_s=placed["sending_s"],
            placing_ms=_mean(placed["placing"]),
            confirming_ms=_mean(placed["confirming"]),
            shipping_ms=_mean(seen["shipping"]),
            notifying_ms=_mean(seen["notifying"]),
            completing_ms=_mean(seen["completing"]),
            open_slope_s=placed["open_slope_s"],
            silent_s=placed["silent_s"],
            services_cpu_ms_per_order=handed.chain_cpu_s * per_order,
            brokers_cpu_ms_per_order=None if counters.broker_cpu_s is None else counters.broker_cpu_s * per_order,
        )
        if script_orders_s and placed["orders_s"] > _SCRIPT_BOUND_FRACTION * script_orders_s:
            bound = (
                f"the script set the pace: {placed['orders_s']:,.0f} orders/s, where it places {script_orders_s:,.0f} "
                "orders/s with no service behind it"
            )
    states = [each["state"] for each in seen["alerts"]]
    return ServicesQuantities(
        orders_placed=placed["sent"],
        orders_confirmed=placed["confirmed"],
        orders_complete=seen["complete"],
        repeats_dropped=placed["repeated"] + seen["repeated"],
        orders_out_of_order=seen["out_of_order"],
        orders_overtaken=placed["overtaken"],
        alerts_raised=states.count("raised"),
        alerts_cleared=states.count("cleared"),
        figures=figures,
        fault=_fault_figures(handed.fault, placed) if handed.fault else FaultFigures(),
        generator_bound=bound,
        counters=counters,
    )


def _of_the_last_rate(found: ServicesQuantities) -> ServicesQuantities:
    """Returns the quantities of a search without those that were counted over all of its rates."""
    figures = found.figures and replace(found.figures, brokers_cpu_ms_per_order=None)
    return replace(found, figures=figures, counters=LoadCounters())


def _fault_figures(fault: FaultRecord, placed: Record) -> FaultFigures:
    # The notification is not on a confirmation's way.
    recovered_s = None
    if fault.kind != NOTIFICATION_KILLED:
        recovered_s = seconds_to_former_p95(placed["seconds"], fault.began_at - placed["began_at"])
    return FaultFigures(full_isr_s=fault.full_isr_s, recovered_s=recovered_s)


def _timeline(fault: FaultRecord, placed: Record) -> Timeline:
    return Timeline(
        what=fault.what,
        began_s=fault.began_at - placed["began_at"],
        ended_s=fault.ended_at - placed["began_at"],
        done=[number for number, _ in placed["seconds"]],
        latency_p95_ms=[p95_ms for _, p95_ms in placed["seconds"]],
    )


def _mean(latency: Record | None) -> float | None:
    return latency["mean_ms"] if latency else None
