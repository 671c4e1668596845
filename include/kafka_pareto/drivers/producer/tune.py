"""The study that tunes a producer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, JsonValue, field_serializer, field_validator, model_validator

from kafka_pareto.drivers.producer.declaration import DRIVER, RECORD_SIZE
from kafka_pareto.drivers.producer.study import ProducerStudy
from kafka_pareto.kafka.known_properties import (
    DURABILITY_PROPERTIES,
    PRODUCER_DURABILITIES,
    Durability,
    PropertyValue,
)
from kafka_pareto.study.constraints import Variables
from kafka_pareto.study.declaration import Feature
from kafka_pareto.study.factors import CategoricalFactor, Configuration, Factor
from kafka_pareto.study.faults import BrokerFault, FaultTimes
from kafka_pareto.study.identifiers import MOST_RECORD_SIZE_BYTES
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.sampled_records import mean_record_bytes
from kafka_pareto.study.tune import Tune
from kafka_pareto.study.workload import PayloadFile, ProducerLoad, SampledPayload, Workload


# The driver's class comes first: its protocol overrides the common one.
class TuneProducer(ProducerStudy, Tune):
    """Tunes a producer. Factors and baseline are producer properties.

    A case is a record size; constraints may use it as `record.size`. `durability` is the weakest guarantee to
    recommend, by default the baseline's.
    """

    promises: ClassVar[frozenset[str]] = frozenset(DURABILITY_PROPERTIES)

    kind: Literal["tune"] = "tune"
    driver: Literal["producer"] = "producer"
    record_sizes_bytes: Annotated[list[Annotated[int, Field(ge=1, le=MOST_RECORD_SIZE_BYTES)]], Field(min_length=1)]
    durability: Durability | None = None
    objectives: list[ObjectiveName] = Field(default_factory=lambda: list(DRIVER.objective_names))
    workload: Workload = Workload()

    @field_validator("durability", mode="before")
    @classmethod
    def _durability_by_name(cls, given: Any) -> Any:
        if given is None or isinstance(given, Durability):
            return given
        names = [each.name for each in PRODUCER_DURABILITIES]
        if given not in names:
            raise ValueError(f"must be one of {', '.join(names)}")
        return Durability[given]

    @field_serializer("durability", mode="plain", when_used="json-unless-none")
    def _durability_as_name(self, durability: Durability) -> str:
        return durability.name

    @field_validator("factors")
    @classmethod
    def _factors_are_producer_properties(cls, factors: dict[str, Factor]) -> dict[str, Factor]:
        known = cls.known
        for name, factor in factors.items():
            if name not in known.defaults:
                raise ValueError(f"{name} {known.unknown(name)}")
            needed = "categorical" if isinstance(known.defaults[name], (str, bool)) else "integer"
            if factor.type != needed:
                raise ValueError(f"{name} must be of type {needed}")
            for level in factor.levels or []:
                if name in known.choices and level not in known.choices[name]:
                    raise ValueError(f"{name}: level {level!r} must be one of {', '.join(known.choices[name])}")
            if needed == "integer":
                for end in factor.extremes():
                    known.typed_value(name, str(end))
        return factors

    @classmethod
    def setting_value(cls, name: str, given: PropertyValue) -> PropertyValue:
        """Return a property's value, typed."""
        if name not in cls.known.defaults:
            raise ValueError(f"{name} {cls.known.unknown(name)}")
        return cls.known.typed_value(name, str(given).lower())

    @field_validator("record_sizes_bytes")
    @classmethod
    def _record_sizes_are_unique(cls, sizes: list[int]) -> list[int]:
        if len(set(sizes)) != len(sizes):
            raise ValueError("lists a record size twice")
        return sizes

    @model_validator(mode="after")
    def _keys_and_zeros_need_the_generator(self) -> Self:
        if self.protocol.load_tool == "load_generator":
            return self
        if self.workload.keys:
            raise ValueError("workload.keys needs protocol.load_tool load_generator; kafka_perf_test sends no keys")
        workload = self.workload
        if workload.producers > 1 or workload.arrival != "constant" or workload.sends == "synchronous":
            raise ValueError(
                "workload.producers, workload.arrival and workload.sends need protocol.load_tool load_generator"
            )
        if isinstance(self.workload.payload, SampledPayload):
            raise ValueError(
                "workload.payload.sample needs protocol.load_tool load_generator; kafka_perf_test sends values alone"
            )
        if self.workload.payload == "zeros":
            raise ValueError(
                "workload.payload zeros needs protocol.load_tool load_generator; kafka_perf_test sends letters"
            )
        return self

    @model_validator(mode="after")
    def _load_machines_share_the_load(self) -> Self:
        self.require_loads_fit_machines([self.load_of(case, {}) for case in self.cases])
        return self

    @model_validator(mode="after")
    def _sample_is_sent_as_it_is(self) -> Self:
        if isinstance(self.workload.payload, SampledPayload):
            if self.workload.keys:
                raise ValueError("workload.keys: must be 0 with workload.payload.sample, whose records have their own")
            if len(self.record_sizes_bytes) > 1:
                raise ValueError("record_sizes_bytes: must be one with workload.payload.sample, the mean size")
        elif self.workload.arrival == "recorded":
            raise ValueError("workload.arrival recorded needs workload.payload.sample, which has the times")
        return self

    @model_validator(mode="after")
    def _faults_fit_the_load(self) -> Self:
        faults, times, protocol = self.workload.faults, self.workload.fault_times, self.protocol
        if not faults:
            return self
        if self.own_brokers is None:
            raise ValueError(
                "workload.faults needs testbed: {brokers: 3}: faults are injected only into the study's own brokers"
            )
        if self.own_brokers.brokers == 1 or self.workload.replication_factor == 1:
            raise ValueError("workload.faults needs at least two brokers and two replicas: one must survive")
        needed_s, lasts_s = times.seconds(len(faults)), protocol.unthrottled_s
        if lasts_s < needed_s + times.for_s:
            raise ValueError(
                f"protocol.seconds {protocol.seconds}: with the warm-up it must be at least "
                f"{needed_s + times.for_s:g}: the last of workload.faults must end before the load, with time to "
                "observe the recovery (workload.fault_times)"
            )
        return self

    @property
    def cases(self) -> list[str]:
        """List the cases, one per mapped task: the record sizes, in order."""
        return [str(size) for size in self.record_sizes_bytes]

    def keys_of_cases(self, cases: Sequence[str]) -> dict[str, JsonValue]:
        """Return the study file's key for the record sizes."""
        return {"record_sizes_bytes": [int(case) for case in cases]}

    def case_overrides(self, cases: Sequence[str]) -> dict[str, JsonValue]:
        """Return the DAG parameter that limits a campaign to these cases."""
        return {"record_sizes": [int(case) for case in cases]}

    def variables(self, case: str) -> Variables:
        """Return the values that constraints may use besides the factors, in this case."""
        return {RECORD_SIZE: int(case)}

    def faults_of(self, configuration: Configuration) -> list[BrokerFault]:  # noqa: ARG002
        """List the workload's faults: the same with every configuration."""
        return self.workload.faults

    @property
    def fault_times(self) -> FaultTimes:
        """Return the times of the workload's faults."""
        return self.workload.fault_times

    def load_of(self, case: str, configuration: Configuration) -> ProducerLoad:  # noqa: ARG002
        """Return the load of this case, the same for every configuration."""
        workload = self.workload
        return ProducerLoad(
            record_size_bytes=int(case),
            payload=workload.payload,
            keys=workload.keys,
            producers=workload.producers,
            arrival=workload.arrival,
            sends=workload.sends,
            client=self.known.client,
        )

    def baseline_configuration(self, case: str = "") -> Configuration:  # noqa: ARG002
        """Return the baseline's value of each factor; the client's default if it names none."""
        merged = self.known.resolved(self.baseline)
        return {
            name: str(merged[name]).lower() if isinstance(factor, CategoricalFactor) else merged[name]
            for name, factor in self.factors.items()
        }

    def all_settings(self, configuration: Configuration) -> dict[str, PropertyValue]:
        """Return every producer property with its value."""
        return self.known.resolved(self.properties(configuration))

    def properties(self, configuration: Configuration) -> dict[str, PropertyValue]:
        """Return the configuration's values, with the baseline's for all other properties; idempotence is resolved."""
        return self.known.stated({**self.baseline, **configuration})

    def is_baseline(self, properties: Mapping[str, PropertyValue]) -> bool:
        """Return whether these settings are the baseline's, whatever defaults are spelled out."""
        return self.known.resolved(properties) == self.all_settings(self.baseline_configuration())

    def durability_of(self, configuration: Configuration) -> Durability:
        """Return the durability that a producer with this configuration promises."""
        return self.known.durability_of({**self.baseline, **configuration})

    def weakest_durability(self) -> Durability:
        """Return the weakest accepted durability: the study's own, else the baseline's."""
        return super().weakest_durability() if self.durability is None else self.durability

    def conditions(self) -> dict[str, Any]:
        """Return the baseline, the workload and the protocol of a single repetition, by their keys.

        The ceiling of a foreign cluster is part of the protocol, since it limits the rate.
        """
        parts = {
            "baseline": self.known.resolved(self.baseline),
            "workload": self.workload.model_dump(exclude={"keep_sample"}),
            "protocol": self.protocol.of_a_repetition() | {"throughput_limit_mib_s": self.throughput_limit_mib_s()},
        }
        return {f"{part}.{key}": value for part, values in parts.items() for key, value in values.items()}

    def text_file(self) -> str | None:
        """Return the file with the records, or with the text to cut them from; None if the study names none."""
        payload = self.workload.payload
        if isinstance(payload, SampledPayload):
            return payload.sample
        return payload.file if isinstance(payload, PayloadFile) else None

    @property
    def text_key(self) -> str:
        """Return the key that holds the name of `text_file`."""
        is_sampled = isinstance(self.workload.payload, SampledPayload)
        return "workload.payload.sample" if is_sampled else super().text_key

    @property
    def keeps_text(self) -> bool:
        """Return whether the text stays in the store after the campaign's end."""
        return self.workload.keep_sample

    def fault_of_text(self, text: str) -> str:
        """Return why the text of `text_file` cannot be sent; empty if it can."""
        if not isinstance(self.workload.payload, SampledPayload):
            return super().fault_of_text(text)
        try:
            mean = mean_record_bytes(text)
        except ValueError as error:
            return str(error)
        if self.record_sizes_bytes == [mean]:
            return ""
        return f"a record has {mean} bytes on average, so record_sizes_bytes must be [{mean}]"

    def derived_features(self) -> list[Feature]:
        """List the records per batch, if the study varies the batch size and wants them."""
        return super().derived_features() if self.surrogate.records_per_batch else []
