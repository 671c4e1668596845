"""Define the study that compares settings of a consumer group and of its brokers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from kafka_pareto.analysis.wording import counted
from kafka_pareto.drivers.consumer.declaration import DRIVER
from kafka_pareto.drivers.consumer.quantities import ratio_in
from kafka_pareto.kafka.client_rules import ClientName
from kafka_pareto.kafka.consumer_properties import BOUNDS, CHOICES, DEFAULTS, conflict_in
from kafka_pareto.kafka.known_properties import DEFAULTS as PRODUCER_DEFAULTS
from kafka_pareto.kafka.known_properties import PropertyValue, is_idempotent, unknown_property_rule
from kafka_pareto.study.compare import Compare
from kafka_pareto.study.declaration import Driver
from kafka_pareto.study.factors import Configuration, FactorValue
from kafka_pareto.study.identifiers import MOST_RECORD_SIZE_BYTES
from kafka_pareto.study.protocol import Protocol
from kafka_pareto.study.quantity import Value, Values
from kafka_pareto.study.section import Count, Section
from kafka_pareto.study.setting import BROKER_SETTINGS, Setting, client_settings
from kafka_pareto.study.topic_study import TopicStudy, conditions_of
from kafka_pareto.study.workload import Topic

CONSUMERS = "consumers"
_MOST_CONSUMERS = 64
_DUE_TIME_BYTES = 8
SETTINGS: dict[str, Setting] = {
    **client_settings(DEFAULTS, CHOICES, BOUNDS),
    CONSUMERS: Setting(CONSUMERS, 1, "load", least=1, most=_MOST_CONSUMERS),
    **BROKER_SETTINGS,
}
"""All settings of a comparison of consumers."""


class Live(Section):
    """Sets the rate at which a producer sends while the group reads, for `seconds` after the warm-up."""

    rate_records_s: Annotated[float, Field(gt=0)]
    seconds: Annotated[float, Field(gt=0)]


class ConsumerProtocol(Protocol):
    """Adds reading: first the whole topic, unthrottled; then, with `live`, new records.

    Each part has its own group and process, a `warmup_seconds` that does not count, and the time limit `timeout_s`.
    """

    warmup_seconds: Annotated[float, Field(ge=0)] = 1.0
    live: Live | None = None
    timeout_s: Annotated[float, Field(gt=0)] = 120.0

    _not_of_a_repetition: ClassVar[frozenset[str]] = Protocol._not_of_a_repetition | {"timeout_s"}

    @property
    def live_s(self) -> float:
        """Return for how many seconds a producer sends in each repetition, warm-up included; 0 without a live part."""
        return self.warmup_seconds + self.live.seconds if self.live else 0.0

    @model_validator(mode="after")
    def _ends_before_its_timeout(self) -> Self:
        if self.live is not None and self.timeout_s <= self.live_s:
            raise ValueError(
                f"timeout_s {self.timeout_s:g} must be above warmup_seconds and live.seconds, {self.live_s:g}"
            )
        return self


_PROTOCOL = ConsumerProtocol(repetitions=5, warmup_seconds=1.0, live=Live(rate_records_s=20_000, seconds=8.0))


class ReadWorkload(Topic):
    """Adds the topic's records, sent with the properties of `producer`; `live` sends the same kind."""

    records: Count = 2_000_000
    record_size_bytes: Annotated[int, Field(ge=1, le=MOST_RECORD_SIZE_BYTES)] = 1024
    producer: dict[str, PropertyValue] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _of_a_producer(self) -> Self:
        for name in self.producer:
            if name not in PRODUCER_DEFAULTS:
                raise ValueError(f"producer.{name} {unknown_property_rule(name)}")
        return self

    @property
    def bytes(self) -> int:
        """Return the size of all records."""
        return self.records * self.record_size_bytes

    def producer_properties(self) -> dict[str, PropertyValue]:
        """Return the producer's properties, idempotence resolved."""
        return {**self.producer, "enable.idempotence": is_idempotent(self.producer)}


class CompareConsumer(Compare, TopicStudy):
    """Compares settings of a consumer group.

    Levels may be consumer properties, `consumers` (threads with a consumer each), and properties of the study's own
    brokers.
    """

    declaration: ClassVar[Driver] = DRIVER
    baseline_client: ClassVar[ClientName | None] = "consumer"

    kind: Literal["compare"] = "compare"
    driver: Literal["consumer"] = "consumer"
    workload: ReadWorkload = ReadWorkload()
    protocol: ConsumerProtocol = _PROTOCOL

    throughputs_by_clients: ClassVar[Mapping[str, tuple[str, ...]]] = {CONSUMERS: ("read_records_s",)}

    def settings(self) -> Mapping[str, Setting]:
        """Map consumer properties, the number of consumers, and broker properties."""
        return SETTINGS

    @property
    def compared(self) -> tuple[str, ...]:
        """List the reading rate and, with a live part, the end-to-end latency."""
        return ("read_records_s", *(("end_to_end_latency_p95_ms",) if self.protocol.live else ()))

    def consumers(self, configuration: Configuration) -> int:
        """Return the number of consumers in the group."""
        return int(self.effective(configuration)[CONSUMERS])

    @property
    def live_bytes(self) -> float:
        """Return the bytes sent while a group follows, per repetition; 0 without a live part."""
        live = self.protocol.live
        return live.rate_records_s * self.protocol.live_s * self.workload.record_size_bytes if live else 0.0

    def properties(self, configuration: Configuration) -> dict[str, FactorValue]:
        """Return the consumer settings given by reference and configuration."""
        return {name: value for name, value in self.stated(configuration).items() if name in DEFAULTS}

    def derived_quantities(self, values: Values) -> dict[str, Value]:
        """Return a repetition's cost."""
        return {"reading_cores": ratio_in(values, "consumer_threads_cpu_s", "measured_s")}

    def rule_parameters(self) -> dict[str, object]:
        """Return the values of the `$…` in the consumer's rules."""
        return {"live_columns": ["live_rate_records_s", "lag_max_records"] if self.protocol.live else []}

    def derived_values(self, values: Values) -> dict[str, float]:
        """Return the values derived from a repetition, for the consumer's rules."""
        held = ratio_in(values, "live_rate_records_s", "live_rate_asked_records_s")
        return {"live_rate_held": math.nan if held is None else held}

    def described_protocol(self) -> dict[str, str]:
        """Describe one repetition as names and texts for people."""
        workload, live = self.workload, self.protocol.live
        described = super().described_protocol() | {
            "read": f"{counted(workload.records, 'record')} of {workload.record_size_bytes:,} B, after "
            f"{self.protocol.warmup_seconds:g} s of warm-up",
            "topic": f"{counted(workload.topic_partitions, 'partition')}, "
            f"{counted(workload.replication_factor, 'replica')}",
        }
        if live is not None:
            described["followed"] = f"a producer at {live.rate_records_s:,.0f} records/s, for {live.seconds:g} s"
        return described

    def conditions(self) -> dict[str, Any]:
        """Return the reference, topic, brokers and protocol of a single repetition by key."""
        return conditions_of(self, self.stated({}))

    @model_validator(mode="after")
    def _reads_what_is_its_own(self) -> Self:
        if self.cluster is not None:
            raise ValueError(
                "cluster: consumers are compared on the study's own brokers or on the stack's cluster; no "
                "rate limit applies yet while a topic is filled"
            )
        if self.protocol.live is not None and self.workload.record_size_bytes < _DUE_TIME_BYTES:
            raise ValueError(
                f"workload.record_size_bytes {self.workload.record_size_bytes}: must be at least {_DUE_TIME_BYTES} "
                "with protocol.live, because each record holds its due time"
            )
        return self

    @model_validator(mode="after")
    def _consumers_start(self) -> Self:
        for part in self.cases:
            for level in self.levels_of(part):
                if self.consumers(level) > self.workload.topic_partitions:
                    raise ValueError(
                        f"part {part}: consumers {self.consumers(level)}: must not exceed workload.topic_partitions "
                        f"{self.workload.topic_partitions}; a consumer without a partition reads no records"
                    )
                if conflict := conflict_in(self.properties(level)):
                    raise ValueError(f"part {part}: {conflict}")
        return self


STUDIES = {"compare": CompareConsumer}
