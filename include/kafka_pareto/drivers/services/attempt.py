"""Attempt one repetition: run orders through the services and judge the outcome reported by hospital and client."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from secrets import token_hex

import numpy as np
import psutil

from kafka_pareto.analysis.wording import counted
from kafka_pareto.bottleneck.host_counters import HostCounters
from kafka_pareto.bottleneck.load_counters import LoadWindow
from kafka_pareto.campaign.records import Outcome, Timeline
from kafka_pareto.drivers.services.fault import Fault
from kafka_pareto.drivers.services.figures import quantities, timeline_of
from kafka_pareto.drivers.services.orders import CapacityError, OrdersRun, find_capacity, run_orders
from kafka_pareto.drivers.services.produce_times import produce_times, read_all
from kafka_pareto.drivers.services.programs.hospital import Asked
from kafka_pareto.drivers.services.quantities import ServicesQuantities
from kafka_pareto.drivers.services.studies import CompareServices
from kafka_pareto.drivers.services.testbed import OpenTopology, ServicesTestbed
from kafka_pareto.errors import ClusterError, LoadStartError, LoadToolError
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.measurement.driver_runtime import Attempt
from kafka_pareto.measurement.host_load import cpu_fractions
from kafka_pareto.study.faults import CHANGING_THE_CLUSTER, NO_FAULT, PARTITIONS_ADDED


def attempt_orders(planned: PlannedRepetition, study: CompareServices, testbed: ServicesTestbed) -> Attempt:
    """Run a level's orders through running services and judge the outcome."""
    configuration = planned.candidate.configuration
    load, fault = study.load_of(configuration), str(study.effective(configuration)["fault"])
    opened = testbed.topology_for(configuration)
    started_at, cpu_before, began_at = datetime.now(UTC).isoformat(), psutil.cpu_times(), time.time()
    chain_before_s = opened.chain.cpu_s()
    orders_run: OrdersRun | None = None
    reason, is_excused = "", False
    before = read_all(opened.brokers)
    counters = HostCounters(None, opened.brokers)
    with counters:
        counted_from = time.time()
        try:
            orders_run = _run_level(planned, study, testbed, opened)
        except (LoadToolError, ClusterError) as error:
            reason, is_excused = str(error), is_to_be_repeated(error, fault)
    chain_cpu_s = max(opened.chain.cpu_s() - chain_before_s, 0.0)
    steal, other = cpu_fractions(cpu_before, psutil.cpu_times(), chain_cpu_s)
    found = ServicesQuantities()
    outcome: Outcome = "failed"
    timeline: Timeline | None = None
    if orders_run:
        placed = orders_run.placed
        load_window = LoadWindow(placed["began_at"] - counted_from, placed["ended_at"] - counted_from)
        window = load_window if placed["confirmed"] else None
        found = quantities(orders_run, load, counters.counters(window), testbed.script_orders_s)
        if load.kind != "capacity":
            found = replace(found, produce=produce_times(before, read_all(opened.brokers)))
        # Added partitions move keys.
        is_keyed = study.topology_of(configuration)[1].partitioning == "key"
        outcome, reason = judge(orders_run, keeps_order=is_keyed and fault != PARTITIONS_ADDED)
        if outcome == "valid":
            reason = found.generator_bound
        timeline = timeline_of(orders_run.fault, placed) if orders_run.fault else None
    if outcome != "valid" or fault in CHANGING_THE_CLUSTER:
        # The next level must not inherit leftover orders, added partitions, moved leaders or a cold broker.
        testbed.end_topology()
    return Attempt(
        outcome=outcome,
        reason=reason,
        is_excused=is_excused,
        started_at=started_at,
        quantities=found.values(),
        wall_s=time.time() - began_at,
        client_cpu_s=chain_cpu_s,
        cpu_steal_fraction=steal,
        other_cpu_fraction=other,
        client_is_known=orders_run is not None,
        timeline=timeline,
    )


def is_to_be_repeated(error: LoadToolError | ClusterError, fault: str) -> bool:
    """Return whether an attempt failed for a cause outside its level.

    A service that exits by itself is not the level's fault, unless a fault was injected that may have ended it.
    """
    if isinstance(error, CapacityError):
        return False
    return fault == NO_FAULT or isinstance(error, (LoadStartError, ClusterError))


def _run_level(
    planned: PlannedRepetition, study: CompareServices, testbed: ServicesTestbed, opened: OpenTopology
) -> OrdersRun:
    """Run the orders under the level's load.

    Raises:
        CapacityError: If not even one order a second is sustained.
        LoadToolError: If a service has exited by itself.
    """
    configuration, protocol = planned.candidate.configuration, study.protocol
    found, load = study.effective(configuration), study.load_of(configuration)
    # Each attempt has its own order ids.
    run = f"{planned.candidate.configuration_id}.{planned.block}.{token_hex(4)}"
    asked = Asked(run, int(found["orders"]), hospitals=int(found["hospitals"]), timeout_s=protocol.timeout_s)
    if load.kind == "capacity":
        seeds = [study.seed, planned.block, int(planned.candidate.configuration_id[1:], 16)]
        offset = np.random.default_rng(seeds).uniform(-0.5, 0.5)
        return find_capacity(opened, asked, protocol.capacity, testbed.guesses_orders_s, offset)
    if load.kind == "burst":
        return run_orders(opened, asked)
    rate_s, paced_s = testbed.rate_of(configuration), protocol.paced_warmup_s + int(found["paced_s"])
    paced = replace(
        asked,
        orders=max(round(rate_s * paced_s), 1),
        rate_s=rate_s,
        skip_s=protocol.paced_warmup_s,
        timeout_s=paced_s + protocol.timeout_s,
    )
    kind = str(found["fault"])
    return run_orders(opened, paced, None if kind == NO_FAULT else Fault(kind, protocol.fault))


def judge(orders_run: OrdersRun, *, keeps_order: bool) -> tuple[Outcome, str]:
    """Check that every order completed and, without a fault, that none was duplicated.

    Out-of-order events are a failure only if the level `keeps_order` (partitions by key); otherwise they are counted.
    """
    asked, placed, seen = orders_run.asked, orders_run.placed, orders_run.seen
    if placed["failure"]:
        return "failed", f"the hospital could not place its orders: {placed['failure']}"
    if placed["sent"] != asked.orders:
        return "failed", f"{placed['sent']} of {asked.orders} orders were placed within {asked.timeout_s:g} s"
    if orders_run.lost:
        waited_s = 2 * asked.timeout_s
        return "records_lost", f"{orders_run.lost} of {asked.orders} orders were not completed within {waited_s:g} s"
    if orders_run.late:
        return "failed", f"{orders_run.late} of {asked.orders} orders took longer than {asked.timeout_s:g} s"
    repeated = placed["repeated"] + seen["repeated"]
    if repeated and orders_run.fault is None:
        return "records_duplicated", f"{counted(repeated, 'duplicate')} among confirmations and events"
    if keeps_order and seen["out_of_order"]:
        return "failed", f"{counted(seen['out_of_order'], 'order')} delivered before pickup"
    return "valid", ""
