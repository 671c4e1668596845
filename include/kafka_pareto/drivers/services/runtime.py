"""Run the driver `services`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Plan
from kafka_pareto.drivers.common.systems import open_system
from kafka_pareto.drivers.services.chain import SCALED
from kafka_pareto.drivers.services.runner import ServicesRunner
from kafka_pareto.drivers.services.studies import CompareServices
from kafka_pareto.drivers.services.testbed import open_services_testbed
from kafka_pareto.measurement.driver_runtime import DriverRuntime, System
from kafka_pareto.settings import Settings
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.faults import CHANGING_THE_CLUSTER, NO_FAULT
from kafka_pareto.study.study import Study

_GIB = 1 << 30
# Measured on two slow cores with brokers that had run for minutes: with one replica in the part `paced` of
# `topologies`, 2026-11-25; with three in the part `compression` of `topologies_rates`, 2026-11-30.
_ORDERS_S = 1_500.0
_PROBES_OF_A_CAPACITY = 9
_AROUND_A_PROBE_S = 3.0
_IN_SYNC_AGAIN_S = 15.0
_AROUND_A_REPETITION_S = 1.0
_BROKERS_START_S = 20.0
_SERVICES_START_S = 10.0
_BYTES_OF_AN_ORDER = 1_500  # its six records
_SERVICES_MIB = 500
_FURTHER_INSTANCE_MIB = 60


class ServicesRuntime(DriverRuntime):
    """Run repetitions of services."""

    def cost_of(self, study: Study, repetitions: Mapping[str, int], *, sized: bool) -> Plan:  # noqa: ARG002
        """Compute the maximum cost of these repetitions, including topology starts."""
        found = CompareServices.of(study)
        count = sum(repetitions.values())
        # Each block measures every level of its part once, and starts the services of each group.
        blocks = {case: times / len(found.levels_of(case)) for case, times in repetitions.items()}
        groups = {case: _orders_of_groups(found, case) for case in blocks}
        brokers_starts = sum(len(found.topologies_of(case)) for case in blocks)
        services_starts = sum(times * len(groups[case]) for case, times in blocks.items())
        loads = [(times, level) for case, times in blocks.items() for level in found.levels_of(case)]
        orders = sum(times * _orders(found, level) for times, level in loads)
        # A topology with a changed cluster is ended after the repetition.
        restarts = sum(times for times, level in loads if found.effective(level)["fault"] in CHANGING_THE_CLUSTER)
        of_capacities = {found.capacity_topology(level) for _, level in loads if found.load_of(level).capacity_fraction}
        duration_s = (
            count * (found.protocol.cool_down_s + _AROUND_A_REPETITION_S)
            + (brokers_starts + restarts) * (_BROKERS_START_S + found.protocol.warmup_s)
            + services_starts * _SERVICES_START_S
            + sum(times * _processing_s(found, level) for times, level in loads)
            + len(of_capacities) * (_SERVICES_START_S + _searching_s(found))
        )
        # Each group's services start with empty topics; the first group's topics also receive the warm-up.
        peak = max((most for each in groups.values() for most in each.values()), default=0.0) + _warming(found)
        return Plan(
            repetitions=count,
            duration_s=duration_s,
            sent_gib=orders * _BYTES_OF_AN_ORDER / _GIB,
            peak_disk_gib=_BYTES_OF_AN_ORDER / _GIB * peak,
        )

    def system(self, study: Study, settings: Settings) -> AbstractContextManager[System]:
        """Open a stand-in for the topologies' brokers, which start only for the measurement."""
        return open_system(study, settings, lambda: _services_mib(CompareServices.of(study)))

    @contextmanager
    def runner(self, campaign: Campaign, case: str, settings: Settings) -> Iterator[ServicesRunner]:
        """Open the runner of one part: the machine's lease, brokers and services."""
        study = CompareServices.of(campaign.study)
        with open_services_testbed(campaign, study, case, settings) as testbed:
            yield ServicesRunner(study, testbed)


def _services_mib(study: CompareServices) -> int:
    """Estimate the memory of all services and the client, with the most instances that run at a time."""
    most = max(int(study.effective(level)["instances"]) for case in study.cases for level in study.levels_of(case))
    return _SERVICES_MIB + len(SCALED) * (most - 1) * _FURTHER_INSTANCE_MIB


def _orders_of_groups(study: CompareServices, case: str) -> dict[str, float]:
    """Return the number of replicated orders in the logs once a group's levels are measured, by group."""
    found: dict[str, float] = defaultdict(float)
    for level in study.levels_of(case):
        found[study.group_in_block(level)] += _orders(study, level) * study.topology_of(level)[1].replication_factor
    return found


def _warming(study: CompareServices) -> float:
    """Return the maximum number of replicated orders that warm brokers up."""
    replicas = [each.replication_factor for each in study.topologies.values()]
    return study.protocol.warmup_s * _ORDERS_S * max(replicas)


def _orders(study: CompareServices, level: Configuration) -> float:
    """Estimate the maximum number of orders a repetition of a level places."""
    if study.load_of(level).kind == "burst":
        return int(study.effective(level)["orders"])
    return _processing_s(study, level) * (study.load_of(level).rate_s or _ORDERS_S)


def _processing_s(study: CompareServices, level: Configuration) -> float:
    """Estimate the time a level's orders take."""
    found, load, protocol = study.effective(level), study.load_of(level), study.protocol
    if load.kind == "capacity":
        return _searching_s(study)
    if load.kind == "burst":
        return int(found["orders"]) / _ORDERS_S
    return protocol.paced_warmup_s + int(found["paced_s"]) + (0.0 if found["fault"] == NO_FAULT else _IN_SYNC_AGAIN_S)


def _searching_s(study: CompareServices) -> float:
    """Estimate the time of a capacity search."""
    rule = study.protocol.capacity
    return _PROBES_OF_A_CAPACITY * (rule.warmup_s + rule.seconds + _AROUND_A_PROBE_S)


RUNTIME = ServicesRuntime()
