"""The study that compares settings of a producer, of its load, and of brokers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self, get_args

from pydantic import JsonValue, model_validator

from kafka_pareto.analysis.wording import counted
from kafka_pareto.drivers.producer.client_files import librdkafka_properties
from kafka_pareto.drivers.producer.declaration import RECORD_SIZE
from kafka_pareto.drivers.producer.protocol import Paced, ProducerProtocol
from kafka_pareto.drivers.producer.quantities import costs_of
from kafka_pareto.drivers.producer.study import ProducerStudy
from kafka_pareto.kafka.known_properties import DURABILITY_PROPERTIES, Durability, PropertyValue
from kafka_pareto.kafka.librdkafka_properties import LIBRDKAFKA
from kafka_pareto.kafka.producer_settings import JAVA, ProducerSettings
from kafka_pareto.kafka.properties_file import parse_properties
from kafka_pareto.study.compare import Compare
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.identifiers import MOST_PRODUCERS, MOST_RECORD_SIZE_BYTES
from kafka_pareto.study.quantity import Value, Values
from kafka_pareto.study.sampled_records import mean_record_bytes
from kafka_pareto.study.setting import BROKER_SETTINGS, Setting, client_settings
from kafka_pareto.study.topic_study import conditions_of
from kafka_pareto.study.workload import (
    BUNDLED,
    CompressiblePayload,
    FileBesideStudy,
    Payload,
    ProducerLoad,
    SampledPayload,
    Sends,
    SentTopic,
)

PRODUCERS = "producers"
PAYLOAD = "payload"
SENDS = "sends"
CLIENT = "client"
TOPIC_SETTINGS = ("topic_partitions", "replication_factor", "min_insync_replicas")
_PAYLOADS: dict[str, Payload] = {
    "random": "random",
    "text": CompressiblePayload(compressed_fraction=0.3),
    "zeros": "zeros",
}
_SAMPLE = "sample"
_LOAD_SETTINGS = (
    Setting(RECORD_SIZE, 1024, "load", least=1, most=MOST_RECORD_SIZE_BYTES),
    Setting(PRODUCERS, 1, "load", least=1, most=MOST_PRODUCERS),
    Setting(PAYLOAD, "random", "load", choices=(*_PAYLOADS, _SAMPLE)),
    Setting(SENDS, "asynchronous", "load", choices=get_args(Sends)),
    Setting(CLIENT, BUNDLED, "load"),
)


def settings_with(known: ProducerSettings) -> dict[str, Setting]:
    """Return everything that a comparison of producers with these settings can vary, but for the topic."""
    of_client = client_settings(known.defaults, known.choices, known.bounds)
    return of_client | {each.name: each for each in _LOAD_SETTINGS} | BROKER_SETTINGS


_PROTOCOL = ProducerProtocol(
    kind="steady",
    load_tool="load_generator",
    jvm="warm",
    repetitions=5,
    warmup_seconds=5.0,
    seconds=10.0,
    paced=Paced(rate_fraction=0.5, warmup_seconds=2.0, seconds=10.0),
    cool_down_s=5.0,
    variability="within_run",
)


class ComparedWorkload(SentTopic):
    """Adds the file of the payload `sample`: a topic's own records, as `kafka-pareto audit --study-folder` writes them.

    It lies in or below the study's folder; `record.size` must be its records' mean size. The store keeps a copy; with
    `keep_sample: false` only until the campaign has ended.
    """

    sample: FileBesideStudy | None = None
    keep_sample: bool = True


# The kind comes first: its methods for brokers override the common ones.
class CompareProducer(Compare, ProducerStudy):
    """Compares settings of a producer.

    A `protocol` without a `kind`, and its `paced`, override only the keys they name.

    For its levels, see `docs/comparisons.md`.
    """

    kind: Literal["compare"] = "compare"
    driver: Literal["producer"] = "producer"
    workload: ComparedWorkload = ComparedWorkload()
    protocol: ProducerProtocol = _PROTOCOL

    fixed_settings: ClassVar[Mapping[str, Setting]] = settings_with(JAVA)
    throughputs_by_clients: ClassVar[Mapping[str, tuple[str, ...]]] = {PRODUCERS: ("throughput_records_s",)}
    latencies_by_size: ClassVar[Mapping[str, tuple[str, ...]]] = {RECORD_SIZE: ("latency_p50_ms", "latency_p99_ms")}

    def settings(self) -> Mapping[str, Setting]:
        """Map settings of producer, load, brokers and topic; the topic's are `workload`'s by default."""
        of_topic = {name: Setting(name, getattr(self.workload, name), "load", least=1) for name in TOPIC_SETTINGS}
        return {**self.fixed_settings, **of_topic}

    @property
    def compared(self) -> tuple[str, ...]:
        """List throughput and, with a fixed rate, p99 latency."""
        return ("throughput_records_s", "latency_p99_ms")

    def unused_keys(self, levels: Sequence[Configuration]) -> dict[str, JsonValue]:
        """Return the study's keys without a sample that none of these levels sends."""
        if any(self.effective(level)[PAYLOAD] == _SAMPLE for level in levels):
            return {}
        return {"workload": self.workload.model_dump(exclude_none=True, exclude={"sample"})}

    def load_of(self, case: str, configuration: Configuration) -> ProducerLoad:  # noqa: ARG002
        """Return the load of this configuration."""
        stated = self.effective(configuration)
        is_sampled, version = stated[PAYLOAD] == _SAMPLE, str(stated[CLIENT])
        is_exported = version == LIBRDKAFKA.client
        return ProducerLoad(
            record_size_bytes=int(stated[RECORD_SIZE]),
            payload=self._sampled() if is_sampled else _PAYLOADS[str(stated[PAYLOAD])],
            producers=int(stated[PRODUCERS]),
            sends="synchronous" if stated[SENDS] == "synchronous" else "asynchronous",
            client=LIBRDKAFKA.client if is_exported else self.known.client,
            client_version=BUNDLED if is_exported else version,
        )

    def _sampled(self) -> SampledPayload:
        if self.workload.sample is None:
            raise ValueError("payload sample needs workload.sample, the file of sampled records")
        return SampledPayload(sample=self.workload.sample)

    def text_file(self) -> str | None:
        """Return the file of sampled records; None without one."""
        return self.workload.sample

    @property
    def text_key(self) -> str:
        """Return the key that holds the name of `text_file`."""
        return "workload.sample"

    @property
    def keeps_text(self) -> bool:
        """Return whether the sampled records stay in the store after the campaign's end."""
        return self.workload.keep_sample

    def fault_of_text(self, text: str) -> str:
        """Return why the sampled records cannot be sent; empty if they can."""
        try:
            mean = mean_record_bytes(text)
        except ValueError as error:
            return str(error)
        loads = [self.load_of(case, level) for case in self.cases for level in self.levels_of(case)]
        if others := sorted({load.record_size_bytes for load in loads if load.is_sampled} - {mean}):
            needed = f"record.size must be {mean} with payload sample, not {others[0]}"
            return f"a record has {mean} bytes on average, so {needed}"
        return ""

    def topic_of(self, configuration: Configuration) -> SentTopic:
        """Return the topic that a level needs."""
        stated = self.effective(configuration)
        return self.workload.model_copy(update={name: int(stated[name]) for name in TOPIC_SETTINGS})

    def topics_of(self, case: str) -> list[SentTopic]:
        """List the distinct topics of the part's levels, the reference's first."""
        found = [self.topic_of(each) for each in (self.baseline_configuration(case), *self.levels_of(case))]
        return [topic for place, topic in enumerate(found) if topic not in found[:place]]

    def conflict_in(self, level: Configuration) -> str:
        """Return why a level's topic is impossible; empty if it is not."""
        topic, own = self.topic_of(level), self.own_brokers
        if topic.min_insync_replicas > topic.replication_factor:
            return (
                f"min_insync_replicas {topic.min_insync_replicas}: must not exceed replication_factor "
                f"{topic.replication_factor}"
            )
        if own and topic.replication_factor > own.brokers:
            return f"replication_factor {topic.replication_factor}: must not exceed testbed.brokers {own.brokers}"
        return ""

    def sized_like(self, case: str) -> str:
        """Return the first part with the same reference."""
        return next(each for each in self.cases if self.baseline_id(each) == self.baseline_id(case))

    def largest_record_bytes(self, case: str) -> int:
        """Return the largest record size of any level of the part."""
        return max(self.load_of(case, each).record_size_bytes for each in self.levels_of(case))

    def properties(self, configuration: Configuration) -> dict[str, PropertyValue]:
        """Return the producer's settings stated by reference and configuration.

        Idempotence has its resolved value, since `acks=1` would otherwise be an error.
        """
        stated = self.stated(configuration).items()
        return self.known.stated({name: value for name, value in stated if name in self.known.defaults})

    def sent_properties(self, configuration: Configuration) -> Mapping[str, PropertyValue]:
        """Return `properties`; for librdkafka as translated in `librdkafka.properties`."""
        properties = self.properties(configuration)
        if self.load_of("", configuration).client == self.known.client:
            return properties
        return parse_properties(librdkafka_properties(properties))

    def derived_quantities(self, values: Values) -> dict[str, Value]:
        """Return a repetition's costs and batch fill."""
        return costs_of(values, int(self.effective(self.configuration_in(values))["batch.size"]))

    def described_protocol(self) -> dict[str, str]:
        """Describe how one repetition is sent, as names and texts for people."""
        protocol, described = self.protocol, super().described_protocol()
        if protocol.seconds is not None:
            described["unthrottled"] = f"for {protocol.seconds:g} s, after {protocol.warmup_seconds:g} s of warm-up"
        if (paced := protocol.paced) is not None and paced.seconds is not None:
            rate = (
                f"{paced.rate_records_s:,.0f} records/s"
                if paced.rate_records_s is not None
                else f"{(paced.rate_fraction or 0) * 100:.0f} % of the part's sustainable reference throughput"
            )
            described["at the fixed rate"] = (
                f"for {paced.seconds:g} s, after {paced.warmup_seconds or 0:g} s of warm-up, at {rate}"
            )
        if protocol.load_machines:
            described["senders"] = f"{counted(protocol.load_machines, 'load machine')} together"
        topic = self.workload
        described["topic"] = (
            f"{counted(topic.topic_partitions, 'partition')}, {counted(topic.replication_factor, 'replica')}, "
            f"min.insync.replicas {topic.min_insync_replicas}"
        )
        return described

    def durability_of(self, configuration: Configuration) -> Durability:
        """Return the durability that a producer with this configuration promises."""
        return self.known.durability_of(self.properties(configuration))

    @model_validator(mode="before")
    @classmethod
    def _a_protocol_without_a_kind_changes_the_default(cls, given: Any) -> Any:
        protocol = given.get("protocol") if isinstance(given, dict) else None
        if not isinstance(protocol, dict) or "kind" in protocol:
            return given
        default = _PROTOCOL.model_dump(exclude_none=True)
        if isinstance(protocol.get("paced"), dict):
            paced = default["paced"] | protocol["paced"]
            if "rate_records_s" in protocol["paced"] and "rate_fraction" not in protocol["paced"]:
                del paced["rate_fraction"]
            protocol = {**protocol, "paced": paced}
        return {**given, "protocol": {**default, **protocol}}

    @model_validator(mode="after")
    def _samples_and_clients_need_the_generator(self) -> Self:
        loads = [self.load_of(case, level) for case in self.cases for level in self.levels_of(case)]
        has_sample = any(load.is_sampled for load in loads)
        if self.workload.sample is not None and not has_sample:
            raise ValueError("workload.sample is not sent: no level has payload sample")
        self.require_loads_fit_machines(loads)
        if self.protocol.load_tool == "load_generator":
            return self
        if any((load.client, load.client_version) != ("java", BUNDLED) for load in loads):
            raise ValueError("client needs protocol.load_tool load_generator; kafka_perf_test has the bundled one")
        if any(load.sends == "synchronous" for load in loads):
            raise ValueError("sends synchronous needs protocol.load_tool load_generator; kafka_perf_test never waits")
        if has_sample:
            raise ValueError(
                "payload sample needs protocol.load_tool load_generator; kafka_perf_test sends values alone"
            )
        return self

    @model_validator(mode="after")
    def _levels_differ(self) -> Self:
        for case in self.cases:
            factors, known = self.part(case).factors, list[tuple[Any, Configuration]]()
            for level in self.levels_of(case):
                load, topic = self.load_of(case, level), self.topic_of(level)
                sent = (self._what_counts(level), load, self.broker_properties(level), topic)
                if same := next((other for what, other in known if what == sent), None):
                    ours, theirs = (", ".join(f"{name} {each[name]}" for name in factors) for each in (level, same))
                    raise ValueError(
                        f"part {case}: {ours} has the same effect as {theirs}{self._why_same(level, same)}; "
                        "remove one of them, or change the setting that makes them equal"
                    )
                known.append((sent, level))
        return self

    def _why_same(self, level: Configuration, other: Configuration) -> str:
        """Name the setting that makes the levels equal; empty for an unusual one."""
        stated, differing = self.effective(level), {name for name in level if level[name] != other[name]}
        if any(name.startswith("compression.") for name in differing):
            return f" with compression.type {stated['compression.type']}"
        known = self.known
        conflicting = [name for name in DURABILITY_PROPERTIES if not known.is_idempotent({name: stated[name]})]
        found = [name for name in conflicting if name not in differing]
        return f" with {found[0]} {stated[found[0]]}" if "enable.idempotence" in differing and found else ""

    def _what_counts(self, configuration: Configuration) -> dict[str, PropertyValue]:
        """Return the settings the producer applies, without levels of unused codecs."""
        applied = self.known.resolved(self.properties(configuration))
        unused = {f"compression.{codec}.level" for codec in self.known.choices["compression.type"]}
        unused.discard(f"compression.{applied['compression.type']}.level")
        if applied["compression.type"] == "none":
            unused.add("compression.level")  # librdkafka's, for all codecs
        return {name: value for name, value in applied.items() if name not in unused}

    def conditions(self) -> dict[str, Any]:
        """Return the reference, the topic, the brokers and the protocol of a single repetition, by their keys."""
        limit = {"throughput_limit_mib_s": self.throughput_limit_mib_s()}
        return conditions_of(self, self.stated({}), self.protocol.of_a_repetition() | limit)
