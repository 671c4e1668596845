"""Common to all studies that load a topic as a producer."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from kafka_pareto.drivers.producer import rules as producer_rules
from kafka_pareto.drivers.producer.declaration import DRIVER
from kafka_pareto.drivers.producer.protocol import ProducerProtocol
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.study.declaration import Driver
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.faults import BrokerFault, FaultTimes
from kafka_pareto.study.quantity import Values
from kafka_pareto.study.topic_study import TopicStudy
from kafka_pareto.study.workload import ProducerLoad


class ProducerStudy(TopicStudy):
    """Add how one repetition is sent. What is sent follows from the case and the configuration."""

    declaration: ClassVar[Driver] = DRIVER
    baseline_may_be_a_file: ClassVar[bool] = True

    protocol: ProducerProtocol

    @abstractmethod
    def load_of(self, case: str, configuration: Configuration) -> ProducerLoad:
        """Return the load of this configuration in this case."""

    @abstractmethod
    def properties(self, configuration: Configuration) -> dict[str, PropertyValue]:
        """Return the producer's settings, with resolved idempotence."""

    def faults_of(self, configuration: Configuration) -> list[BrokerFault]:  # noqa: ARG002 (for studies whose levels differ)
        """List the faults during a repetition, in order."""
        return []

    @property
    def fault_times(self) -> FaultTimes:
        """Return the times of the faults."""
        return FaultTimes()

    def sized_like(self, case: str) -> str:
        """Return the first case with the same baseline, whose sizing this one shares."""
        return case

    def largest_record_bytes(self, case: str) -> int:
        """Return the largest record size of any configuration of the case."""
        return self.load_of(case, self.baseline_configuration(case)).record_size_bytes

    def rule_parameters(self) -> dict[str, object]:
        """Return the values of the `$…` in the producer's rules."""
        return producer_rules.parameters(self.protocol)

    def derived_values(self, values: Values) -> dict[str, float]:
        """Return values derived from a repetition's, for the producer's rules."""
        load = self.load_of(str(values["case"]), self.configuration_in(values))
        return producer_rules.derived_values(values, self.protocol, load.record_size_bytes)

    def configuration_in(self, values: Values) -> Configuration:
        """Return the configuration of a repetition's row."""
        return {name: value for name in self.varied_factors if (value := values.get(name)) is not None}

    def throughput_limit_mib_s(self) -> float | None:
        """Return the lower of the protocol's limit and the cluster's ceiling; None without either."""
        limits = [self.protocol.throughput_limit_mib_s, self.cluster.ceiling_mib_s if self.cluster else None]
        return min((limit for limit in limits if limit is not None), default=None)
