"""Run the driver `consumer`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Plan
from kafka_pareto.drivers.common.systems import broker_starts_s, open_system
from kafka_pareto.drivers.consumer.attempt import live_load
from kafka_pareto.drivers.consumer.load import ConsumerRequest
from kafka_pareto.drivers.consumer.runner import ConsumerRunner
from kafka_pareto.drivers.consumer.studies import CompareConsumer
from kafka_pareto.drivers.consumer.testbed import open_consumer_testbed
from kafka_pareto.measurement.driver_runtime import DriverRuntime, System
from kafka_pareto.settings import Settings
from kafka_pareto.study.study import Study

_MIB = 1 << 20
_GIB = 1 << 30
# Measured on two cores with three brokers; a plan gives the longest time of an undisturbed campaign.
_FILL_MIB_S = 60.0
_READ_MIB_S = 250.0
_AROUND_A_PART_S = 4.0


class ConsumerRuntime(DriverRuntime):
    """Run the consumers' repetitions."""

    def cost_of(self, study: Study, repetitions: Mapping[str, int], *, sized: bool) -> Plan:  # noqa: ARG002
        """Compute the maximum cost of these repetitions, including filling the topics."""
        found = CompareConsumer.of(study)
        protocol, workload, count = found.protocol, found.workload, sum(repetitions.values())
        reading_s = protocol.warmup_seconds + workload.bytes / _MIB / _READ_MIB_S + _AROUND_A_PART_S
        following_s = protocol.live_s + _AROUND_A_PART_S if protocol.live else 0.0
        most_levels = max((len(found.levels_of(case)) for case in repetitions), default=0)
        return Plan(
            repetitions=count,
            duration_s=count * (protocol.cool_down_s + reading_s + following_s)
            + len(repetitions) * workload.bytes / _MIB / _FILL_MIB_S
            + broker_starts_s(found, repetitions),
            sent_gib=(len(repetitions) * workload.bytes + count * found.live_bytes) / _GIB,
            peak_disk_gib=(workload.bytes + 2 * most_levels * found.live_bytes) * workload.replication_factor / _GIB,
        )

    def system(self, study: Study, settings: Settings) -> AbstractContextManager[System]:
        """Open the study's cluster; brokers of its own start only for the measurement."""
        return open_system(study, settings, lambda: _largest_heap_mib(CompareConsumer.of(study)))

    @contextmanager
    def runner(self, campaign: Campaign, case: str, settings: Settings) -> Iterator[ConsumerRunner]:
        """Open the runner of one part: cluster, lease, a filled topic and the load generator."""
        study = CompareConsumer.of(campaign.study)
        with open_consumer_testbed(campaign, study, case, settings) as testbed:
            yield ConsumerRunner(study, case, testbed)


def _largest_heap_mib(study: CompareConsumer) -> int:
    """Return the largest heap the load generator needs for any level, in MiB."""
    live = live_load(study)
    return max(
        ConsumerRequest("", "", study.properties(level), 0.0, study.consumers(level), live=live).heap_mib
        for case in study.cases
        for level in study.levels_of(case)
    )


RUNTIME = ConsumerRuntime()
