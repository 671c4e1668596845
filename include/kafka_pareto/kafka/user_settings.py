"""Read a user's producer settings as Java properties, Spring Boot's YAML or properties, or librdkafka's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import yaml

from kafka_pareto.errors import did_you_mean
from kafka_pareto.kafka.known_properties import DEFAULTS, PropertyValue, resolved, typed_value
from kafka_pareto.kafka.properties_file import parse_properties, property_text

Form = Literal["Java properties", "Spring Boot", "librdkafka"]

_SPRING = "spring.kafka."
# Spring binds batch-size, batchSize and batch_size alike; sizes may have a unit (DataSize).
_SPRING_NAMES = {
    "acks": "acks",
    "batchsize": "batch.size",
    "bootstrapservers": "bootstrap.servers",
    "buffermemory": "buffer.memory",
    "clientid": "client.id",
    "compressiontype": "compression.type",
    "keyserializer": "key.serializer",
    "retries": "retries",
    "transactionidprefix": "transactional.id",
    "valueserializer": "value.serializer",
}
_DATA_SIZE = re.compile(r"([0-9]{1,18}) *(B|KB|MB|GB|TB)", re.IGNORECASE)
_UNITS = {unit: 1024**power for power, unit in enumerate(("B", "KB", "MB", "GB", "TB"))}

# librdkafka's CONFIGURATION.md: names that it alone has for settings of the Java client.
_LIBRDKAFKA_NAMES = {
    "compression.codec": "compression.type",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "message.max.bytes": "max.request.size",
    "message.send.max.retries": "retries",
    "message.timeout.ms": "delivery.timeout.ms",
    "metadata.broker.list": "bootstrap.servers",
    "partitioner": "partitioner.class",
    "queue.buffering.max.kbytes": "buffer.memory",
    "queue.buffering.max.ms": "linger.ms",
    "request.required.acks": "acks",
    "socket.receive.buffer.bytes": "receive.buffer.bytes",
    "socket.send.buffer.bytes": "send.buffer.bytes",
}
_LIBRDKAFKA_ONLY = {
    "batch.num.messages",
    "compression.level",
    "enable.gapless.guarantee",
    "message.copy.max.bytes",
    "queue.buffering.backpressure.threshold",
    "queue.buffering.max.messages",
    "queuing.strategy",
    "socket.keepalive.enable",
    "socket.nagle.disable",
    "socket.timeout.ms",
    "statistics.interval.ms",
    "sticky.partitioning.linger.ms",
    "topic.metadata.refresh.interval.ms",
}
_LIBRDKAFKA_DEFAULTS = "defaults differ from Java's: state batch.size (1000000) and enable.idempotence (false)"


_CHANGES_THE_MEANING = {
    "interceptor.classes": "no load generator runs your interceptors",
    "partitioner.class": "a partitioner decides which records share a batch, and no load generator runs yours",
    "transactional.id": "transactions are not measured, and they cost a round trip each",
}
# Names of `ProducerConfig.configNames()` in Kafka 4.3.1 that no study varies.
_NOT_VARIED = re.compile(
    r"bootstrap\.servers|client\.(id|rack|dns\.lookup)|config\.providers|enable\.metrics\.push|(key|value)\.serializer"
    r"|metadata\.(max\.idle\.ms|recovery\.[a-z.]+)|metric\.reporters|metrics\.[a-z.]+|reconnect\.backoff\.(max\.)?ms"
    r"|s(asl|sl)\.[a-z.]+|security\.(protocol|providers)|socket\.connection\.setup\.timeout\.(max\.)?ms"
    r"|transaction\.(timeout\.ms|two\.phase\.commit\.enable)"
)
_PLACEHOLDER = re.compile(r"\$\{|#\{|\{\{|%[({]|\$[A-Za-z_(]|@[A-Za-z_.-]+@")


@dataclass(frozen=True)
class ProducerFile:
    """The settings of a producer, and the names in the file that were left out, each with the reason."""

    form: Form
    used: dict[str, PropertyValue]
    left_out: dict[str, str] = field(default_factory=dict)

    def report_lines(self) -> list[str]:
        """Describe how the file was understood, one fact a line."""
        used = ", ".join(f"{name}={property_text(value)}" for name, value in self.used.items())
        defaults = [f"note: {_LIBRDKAFKA_DEFAULTS}"] if self.form == "librdkafka" else []
        return [
            f"read as {self.form}: {used or 'nothing'}",
            *(f"left out {name}: {reason}" for name, reason in self.left_out.items()),
            *defaults,
        ]


def read_producer_file(text: str) -> ProducerFile:
    """Read the text in the form that its names show.

    Raises:
        ValueError: If the file cannot be parsed, a value is malformed or a placeholder, one setting has two values, or
            a producer with these settings would not start or would mean something else than what is measured.
    """
    form, given, left_out = _in_form(text.removeprefix("\ufeff"))
    used: dict[str, PropertyValue] = {}
    written_as: dict[str, str] = {}
    for written, name, value in given:
        if name in _CHANGES_THE_MEANING and value.strip():
            raise ValueError(f"{written}: {_CHANGES_THE_MEANING[name]}; remove the line to compare without")
        if name not in DEFAULTS:
            left_out[written] = _why_left_out(name)
            continue
        typed = _typed(written, name, value)
        if name in used and used[name] != typed:
            raise ValueError(
                f"{written_as[name]} and {written} are one setting with two values, {property_text(used[name])} and "
                f"{value}; keep one"
            )
        used[name], written_as[name] = typed, written
    if reason := _why_no_start(used):
        raise ValueError(f"{reason}: Kafka's producer refuses to start")
    return ProducerFile(form, used, left_out)


def _in_form(text: str) -> tuple[Form, list[tuple[str, str, str]], dict[str, str]]:
    """Return the form, each setting as (name in the file, Kafka's name, value), and names of other programs."""
    nested = _nested_yaml(text)
    given = parse_properties(text) if nested is None else dict(_flat(nested))
    if any(name.startswith(_SPRING) for name in given):
        return "Spring Boot", *_of_spring(given)
    if nested is not None:
        raise ValueError("is YAML without spring.kafka.producer; write Kafka's own names, one name=value a line")
    if given.keys() & (_LIBRDKAFKA_NAMES.keys() | _LIBRDKAFKA_ONLY):
        return "librdkafka", [_of_librdkafka(name, value) for name, value in given.items()], {}
    return "Java properties", [(name, name, value) for name, value in given.items()], {}


def _nested_yaml(text: str) -> dict[Any, Any] | None:
    """Return the mapping of a YAML text; None for a properties file, which as YAML has no mapping within another."""
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.SafeLoader)):
            return None
        documents = list(yaml.safe_load_all(text))
    except (yaml.YAMLError, ValueError):
        return None
    nested = [each for each in documents if isinstance(each, dict) and any(isinstance(v, dict) for v in each.values())]
    if len(nested) > 1:
        raise ValueError("holds several YAML documents, such as Spring's profiles; keep the one in use")
    return nested[0] if nested else None


def _flat(node: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in node.items():
        name = f"{prefix}{str(key).strip('[]')}"
        if isinstance(value, dict):
            yield from _flat(value, f"{name}.")
        elif isinstance(value, list):
            yield name, ",".join(map(str, value))
        else:
            yield name, "" if value is None else property_text(value)


def _of_spring(given: Mapping[str, str]) -> tuple[list[tuple[str, str, str]], dict[str, str]]:
    """Return the producer's settings; those under `producer` go before those of all clients."""
    shared, own, left_out = {}, {}, {}
    for name, value in given.items():
        rest = re.sub(r"\.?\[([^]]*)\]", r".\1", name.removeprefix(_SPRING))  # properties[linger.ms]
        kafka_name = rest.removeprefix("producer.").removeprefix("properties.")
        if not name.startswith(_SPRING):
            left_out[name] = "is not under spring.kafka"
        elif rest.startswith("properties."):
            shared[kafka_name] = (name, kafka_name, value)
        elif rest.startswith("producer.properties."):
            own[name] = (name, kafka_name, value)
        elif rest.startswith("producer."):
            own[name] = (name, _SPRING_NAMES.get(re.sub("[-_]", "", kafka_name).lower(), kafka_name), value)
        else:
            left_out[name] = "is not a setting of the producer"
    taken = {kafka_name for _, kafka_name, _ in own.values()}
    return [*(each for name, each in shared.items() if name not in taken), *own.values()], left_out


def _of_librdkafka(written: str, value: str) -> tuple[str, str, str]:
    name = _LIBRDKAFKA_NAMES.get(written, written)
    if written == "queue.buffering.max.kbytes" and value.strip().isdecimal():
        return written, name, str(int(value) * 1024)
    return written, name, value


def _typed(written: str, name: str, value: str) -> PropertyValue:
    value = value.strip()
    if _PLACEHOLDER.search(value):
        raise ValueError(f"{written}: {value!r} is a placeholder that Spring or a template fills in; write its value")
    if written.startswith(_SPRING) and (size := _DATA_SIZE.fullmatch(value)):
        value = str(int(size[1]) * _UNITS[size[2].upper()])
    try:
        return typed_value(name, value.lower() if isinstance(DEFAULTS[name], bool) else value)
    except ValueError as error:
        raise error if written == name else ValueError(f"{written}: {error}") from error


def _why_left_out(name: str) -> str:
    if _NOT_VARIED.fullmatch(name):
        return "belongs to your client and is not measured"
    if name in _CHANGES_THE_MEANING:
        return "is empty"
    if name in _LIBRDKAFKA_ONLY:
        return "has no counterpart in the Java client, which is measured"
    return f"no producer of Kafka 4.3 knows it{did_you_mean(name, DEFAULTS)}"


def _why_no_start(used: Mapping[str, PropertyValue]) -> str:
    """Return why `ProducerConfig` refuses the settings; empty if it does not."""
    applied = resolved(used)
    if used.get("enable.idempotence") is True:
        for name, is_wrong, rule in (
            ("acks", applied["acks"] != "all", "acks=all"),
            ("retries", applied["retries"] == 0, "retries above 0"),
            (
                "max.in.flight.requests.per.connection",
                int(applied["max.in.flight.requests.per.connection"]) > 5,
                "at most 5 requests in flight",
            ),
        ):
            if is_wrong:
                return f"{name}={property_text(applied[name])} with enable.idempotence=true, which needs {rule}"
    linger_ms, request_ms = int(applied["linger.ms"]), int(applied["request.timeout.ms"])
    if "delivery.timeout.ms" in used and int(used["delivery.timeout.ms"]) < linger_ms + request_ms:
        return (
            f"delivery.timeout.ms={used['delivery.timeout.ms']} is below linger.ms + request.timeout.ms "
            f"({linger_ms} + {request_ms})"
        )
    return ""
