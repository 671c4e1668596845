"""The runtime of the driver `producer`."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

from kafka_pareto.bottleneck.limiting_resource import LoadSetting
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Plan, Sizing
from kafka_pareto.drivers.common.systems import open_system
from kafka_pareto.drivers.producer.announced_machines import run_announced_machine
from kafka_pareto.drivers.producer.attempt import load_setting, request_for
from kafka_pareto.drivers.producer.ceilings import keep_ceilings
from kafka_pareto.drivers.producer.clients import fault_of
from kafka_pareto.drivers.producer.cost import cost_of, largest_memory_mib, require_possible_loads
from kafka_pareto.drivers.producer.load_machines import load_machines
from kafka_pareto.drivers.producer.payload import payload_text
from kafka_pareto.drivers.producer.runner import ProducerRunner
from kafka_pareto.drivers.producer.study import ProducerStudy
from kafka_pareto.drivers.producer.testbed import open_testbed
from kafka_pareto.measurement.driver_runtime import DriverRuntime, System
from kafka_pareto.measurement.own_topics import topic_name
from kafka_pareto.settings import Settings
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.study import Study

log = logging.getLogger(__name__)


class ProducerRuntime(DriverRuntime):
    """Run the producer's repetitions."""

    def cost_of(self, study: Study, repetitions: Mapping[str, int], *, sized: bool) -> Plan:
        """Compute the maximum cost of these repetitions on an undisturbed cluster."""
        return cost_of(ProducerStudy.of(study), repetitions, sized=sized)

    def system(self, study: Study, settings: Settings) -> AbstractContextManager[System]:
        """Open the study's cluster; brokers of its own start only for the measurement.

        Raises:
            BadInputError: If the settings lack the study's load machines.
            PlanError: If a load of the study would not end before its timeout, or exceeds the limit.
        """
        require_possible_loads(ProducerStudy.of(study))
        if not settings.airflow_runs_load_machines:
            load_machines(self.load_machine_count(study), settings)
        return open_system(study, settings, lambda: largest_memory_mib(ProducerStudy.of(study)))

    def load_setting(self, campaign: Campaign, case: str, configuration: Configuration) -> LoadSetting:
        """Return the request of a repetition of this configuration."""
        study = ProducerStudy.of(campaign.study)
        sizing = campaign.read_record(campaign.keys.sizing(study.sized_like(case)), Sizing)
        request = request_for(case, configuration, study, sizing, topic_name(campaign.keys, case))
        return load_setting(request, payload_text(study.load_of(case, configuration).payload))

    def fault_here(self, study: Study, settings: Settings, configuration: Configuration) -> str:
        """Return what a level's client version lacks."""
        return fault_of(ProducerStudy.of(study).load_of("", configuration), settings)

    def load_machine_count(self, study: Study) -> int:
        """Return how many other machines send each load together; 0 if this one sends."""
        return ProducerStudy.of(study).protocol.load_machines

    def run_load_machine(self, campaign: Campaign, session: str, number: int, settings: Settings) -> None:
        """Send loads for the campaign from this machine until the session is stopped."""
        run_announced_machine(campaign, session, number, settings)

    @contextmanager
    def runner(self, campaign: Campaign, case: str, settings: Settings) -> Iterator[ProducerRunner]:
        """Open the runner of one record size: cluster, lease, topic and load tool."""
        with open_testbed(campaign, case, settings) as testbed:
            keep_ceilings(campaign, case, testbed, settings)
            yield ProducerRunner(campaign, case, testbed)


RUNTIME = ProducerRuntime()
