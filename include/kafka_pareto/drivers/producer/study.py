"""Common to all studies that load a topic as a producer."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import ClassVar, Self

from pydantic import model_validator

from kafka_pareto.drivers.producer.declaration import DRIVER
from kafka_pareto.drivers.producer.protocol import ProducerProtocol
from kafka_pareto.kafka.client_rules import ClientName
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.kafka.producer_settings import JAVA, ProducerSettings
from kafka_pareto.study.declaration import Driver
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.faults import BrokerFault, FaultTimes
from kafka_pareto.study.quantity import Value, Values
from kafka_pareto.study.topic_study import TopicStudy
from kafka_pareto.study.workload import BUNDLED, ProducerLoad, SentTopic

_BYTES_PER_MIB = 1 << 20
_LEAST_SECONDS = 2.0
_PRINTED_TOLERANCE = 1e-3
_KAFKA_TOOL_COLUMNS = ["printed_mib_s"]
_GENERATOR_COLUMNS = [
    "latency_p9999_ms",
    "latency_from_send_p95_ms",
    "paced_rate_asked_records_s",
    "paced_rate_records_s",
]
_WITHIN_RUN_COLUMNS = ["latency_cv_in_run", "throughput_cv_in_run"]


class ProducerStudy(TopicStudy):
    """Add the protocol. The load follows from the case and the configuration."""

    declaration: ClassVar[Driver] = DRIVER
    known: ClassVar[ProducerSettings] = JAVA
    """Settings of the client whose names the study uses."""
    baseline_client: ClassVar[ClientName | None] = "producer"

    workload: SentTopic
    protocol: ProducerProtocol

    @model_validator(mode="after")
    def _the_load_tool_has_the_client(self) -> Self:
        if self.known.client != "java" and self.protocol.load_tool != "load_generator":
            raise ValueError(
                f"driver {self.driver} needs protocol.load_tool load_generator; kafka_perf_test uses Java's client"
            )
        seconds = [self.protocol.seconds, self.protocol.paced.seconds if self.protocol.paced else None]
        if self.known.client != "java" and any(each is not None and each < _LEAST_SECONDS for each in seconds):
            raise ValueError(
                f"protocol.seconds and protocol.paced.seconds: must be at least {_LEAST_SECONDS:g} with driver "
                f"{self.driver}, whose statistics are those of whole seconds"
            )
        return self

    def require_loads_fit_machines(self, loads: Iterable[ProducerLoad]) -> None:
        """Refuse loads that the load machines cannot share evenly, or whose client they lack.

        Raises:
            ValueError: Naming the key and the rule.
        """
        machines = self.protocol.load_machines
        if machines and self.own_brokers is not None:
            raise ValueError(
                "protocol.load_machines: cannot reach the study's own brokers (testbed), which listen on loopback"
            )
        for load in loads if machines else ():
            if load.producers % machines:
                raise ValueError(
                    f"producers {load.producers}: must be a multiple of protocol.load_machines, {machines}"
                )
            if (load.client, load.client_version) != ("java", BUNDLED):
                raise ValueError("protocol.load_machines: load machines have only the bundled client for Java")

    def topics_of(self, case: str) -> list[SentTopic]:  # noqa: ARG002 (for studies whose levels differ)
        """List the distinct topics that the case's configurations need, the baseline's first."""
        return [self.workload]

    def topic_of(self, configuration: Configuration) -> SentTopic:  # noqa: ARG002 (likewise)
        """Return the topic that a configuration needs."""
        return self.workload

    @abstractmethod
    def load_of(self, case: str, configuration: Configuration) -> ProducerLoad:
        """Return the load of this configuration in this case."""

    @abstractmethod
    def properties(self, configuration: Configuration) -> dict[str, PropertyValue]:
        """Return the producer's settings, with resolved idempotence."""

    def sent_properties(self, configuration: Configuration) -> Mapping[str, PropertyValue]:
        """Return `properties` under the names of the client that sends the load."""
        return self.properties(configuration)

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
        """Return the values of the `$…` in the producer's rules (`expectations.yaml`)."""
        protocol, by_generator = self.protocol, self.protocol.load_tool == "load_generator"
        return {
            "tool_columns": _GENERATOR_COLUMNS if by_generator else _KAFKA_TOOL_COLUMNS,
            "added_columns": [each.name for each in DRIVER.more_objectives if each.name in self.objective_names],
            "within_run_columns": _WITHIN_RUN_COLUMNS if protocol.variability == "within_run" else [],
            "windows": ["steady_state" if protocol.warmup_seconds or by_generator else "whole_run"],
            "resolution_ms": protocol.latency_resolution_ms(),
        }

    def derived_values(self, values: Values) -> dict[str, float]:
        """Return values derived from a repetition, for rules that compare two of them; NaN if one is missing.

        `elapsed_at_throughput_ms` is the time the window's records take at the printed throughput, up to the tool's 1
        ms; a steady-state window holds its share of the records, less one for rounding. `elapsed_ms` is the same for a
        whole run; for a steady-state window, in which warm-up records still arrive, it is the process's life. For the
        load generator the records behind its throughput are unknown, and so is `elapsed_at_throughput_ms`.
        `throughput_over_records` is the throughput over that from records per second, if both are above zero, and
        `throughput_unit_error_mib_s` its distance from the MB/sec printed by Kafka's tool, beyond a thousandth of it.

        `latency_avg_least_ms` is the minimum average: half the latencies are at or above the median. It is half a
        millisecond lower, since the tool may take the median of a sample.
        """
        sent, pace_records_s = _number(values["records_sent"]), _number(values["throughput_records_s"])
        mib_s, printed_mib_s = _number(values["throughput_mib_s"]), _number(values["printed_mib_s"])
        wall_ms = _number(values["wall_s"]) * 1000
        has_pace = sent > 0 and pace_records_s > 0
        whole_run_ms = round(sent / pace_records_s * 1000, 0) + 1 if has_pace else math.nan
        steady_ms = (sent * self._steady_share() - 1) / pace_records_s * 1000 if has_pace else math.nan
        is_whole_run = values["window"] == "whole_run"
        load = self.load_of(str(values["case"]), self.configuration_in(values))
        ratio = _ratio(mib_s * _BYTES_PER_MIB, pace_records_s * load.record_size_bytes)
        held, asked = _number(values["paced_rate_records_s"]), _number(values["paced_rate_asked_records_s"])
        return {
            "wall_ms": wall_ms,
            "elapsed_ms": whole_run_ms if is_whole_run else wall_ms,
            "elapsed_at_throughput_ms": whole_run_ms if is_whole_run else steady_ms,
            "latency_avg_least_ms": _number(values["latency_p50_ms"]) / 2 - 0.5,
            "throughput_over_records": ratio if ratio > 0 and math.isfinite(ratio) else math.nan,
            "paced_rate_held": _ratio(held, asked),
            "throughput_unit_error_mib_s": abs(mib_s - printed_mib_s) - _PRINTED_TOLERANCE * printed_mib_s,
        }

    def _steady_share(self) -> float:
        """Return the share of the records sent after the warm-up; NaN if the load tool does not count them."""
        if self.protocol.seconds is None or self.protocol.load_tool == "load_generator":
            return math.nan
        return self.protocol.seconds / self.protocol.unthrottled_s

    def configuration_in(self, values: Values) -> Configuration:
        """Return the configuration of a repetition's row."""
        return {name: value for name in self.varied_factors if (value := values.get(name)) is not None}

    def throughput_limit_mib_s(self) -> float | None:
        """Return the lower of the protocol's limit and the cluster's ceiling; None without either."""
        limits = [self.protocol.throughput_limit_mib_s, self.cluster.ceiling_mib_s if self.cluster else None]
        return min((limit for limit in limits if limit is not None), default=None)


def _number(value: Value) -> float:
    return float(value) if isinstance(value, (int, float)) else math.nan


def _ratio(one: float, other: float) -> float:
    return one / other if other else math.nan
