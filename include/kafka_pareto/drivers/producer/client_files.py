"""Write settings for producers other than the plain Java one.

librdkafka's names and ranges are from its CONFIGURATION.md and source (2.16), Spring Boot's from its application
properties, `spring.kafka`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from kafka_pareto.kafka.known_properties import DEFAULTS, INT_MAX, PropertyValue, is_idempotent
from kafka_pareto.kafka.properties_file import property_text

# Spring Boot has its own keys for these; the others belong under `properties`.
_SPRING_KEYS = {
    "acks": "acks",
    "batch.size": "batch-size",
    "buffer.memory": "buffer-memory",
    "compression.type": "compression-type",
    "retries": "retries",
}

_NOT_IN_LIBRDKAFKA = {
    "max.block.ms": "its produce call fails immediately if the queue is full",
    "partitioner.adaptive.partitioning.enable": "its partitioner does not adapt",
    "partitioner.availability.timeout.ms": "its partitioner does not adapt",
    "partitioner.ignore.keys": "choose a `partitioner` instead",
}
LIBRDKAFKA_NAMES = {
    "buffer.memory": "queue.buffering.max.kbytes",
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
}
_MOST_OF_A_MESSAGE_BYTES = 1_000_000_000
# By Java's name, in librdkafka's unit.
_LIBRDKAFKA_RANGES = {
    "batch.size": (1, _MOST_OF_A_MESSAGE_BYTES),  # it accepts more, but message.max.bytes limits a batch, too
    "buffer.memory": (1, INT_MAX),
    "connections.max.idle.ms": (1, INT_MAX),
    "delivery.timeout.ms": (1, INT_MAX),
    "linger.ms": (0, 900_000),
    "max.in.flight.requests.per.connection": (1, 1_000_000),
    "max.request.size": (1000, _MOST_OF_A_MESSAGE_BYTES),
    "metadata.max.age.ms": (1, 86_400_000),
    "receive.buffer.bytes": (1, 100_000_000),
    "request.timeout.ms": (1, 900_000),
    "retries": (0, INT_MAX),
    "retry.backoff.max.ms": (1, 300_000),
    "retry.backoff.ms": (1, 300_000),
    "send.buffer.bytes": (1, 100_000_000),
}
# librdkafka's form of values that Java turns off, or leaves to the system, by 0 or -1.
_OFF_IN_LIBRDKAFKA = {
    ("batch.size", 0): 1,
    ("connections.max.idle.ms", -1): 0,
    ("receive.buffer.bytes", -1): 0,
    ("retry.backoff.max.ms", 0): 1,
    ("retry.backoff.ms", 0): 1,
    ("send.buffer.bytes", -1): 0,
}
# Java defaults for batching, queueing and ordering that differ from librdkafka's.
_OTHER_DEFAULTS = ("batch.size", "buffer.memory", "max.in.flight.requests.per.connection")
# Above it, lz4 itself compresses like at this level.
_MOST_LEVEL = 12
_LEAST_LZ4_HC_LEVEL = 3
_DEFAULT_MESSAGE_MAX_BYTES = 1_000_000
_DEFAULT_BATCH_MESSAGES = 10_000
_SMALL_RECORD_BYTES = 50
_DEFAULT_DELIVERY_TIMEOUT_MS = 300_000
_BYTES_IN_A_KBYTE = 1024


def spring_yaml(properties: Mapping[str, PropertyValue]) -> str:
    """Return the properties as Spring Boot's `application.yaml`."""
    producer: dict[str, Any] = {_SPRING_KEYS[name]: properties[name] for name in _SPRING_KEYS if name in properties}
    if others := {name: properties[name] for name in sorted(properties) if name not in _SPRING_KEYS}:
        producer["properties"] = others
    return str(yaml.safe_dump({"spring": {"kafka": {"producer": producer}}}, sort_keys=False))


def librdkafka_properties(properties: Mapping[str, PropertyValue]) -> str:
    """Return librdkafka's names, units and values; a comment names each setting it lacks, and why.

    Java defaults that librdkafka does not share are written out.
    """
    given = {"enable.idempotence": is_idempotent(properties), **{name: DEFAULTS[name] for name in _OTHER_DEFAULTS}}
    given |= properties
    if int(given["batch.size"]) > _DEFAULT_MESSAGE_MAX_BYTES:
        given.setdefault("max.request.size", DEFAULTS["max.request.size"])
    if int(given.get("linger.ms", 0)) >= _DEFAULT_DELIVERY_TIMEOUT_MS:
        # The Java producer's default.
        request_timeout_ms = given.get("request.timeout.ms", DEFAULTS["request.timeout.ms"])
        given.setdefault("delivery.timeout.ms", int(given["linger.ms"]) + int(request_timeout_ms))
    lines = [
        "# Measured with Java's producer. librdkafka fills batches differently, and its own defaults may be faster:",
        "# measure it with a study of driver librdkafka.",
    ]
    if added := sorted(given.keys() - properties.keys()):
        lines.append(f"# Java defaults that differ from librdkafka's: {', '.join(added)}.")
    for name in sorted(given):
        lines += _librdkafka_lines(name, given)
    return "\n".join(lines) + "\n"


def _librdkafka_lines(name: str, given: Mapping[str, PropertyValue]) -> Iterator[str]:
    if reason := _NOT_IN_LIBRDKAFKA.get(name):
        yield _no_counterpart(name, given, reason)
    elif name.startswith("compression.") and name.endswith(".level"):
        yield from _level_lines(name, given)
    elif name in _LIBRDKAFKA_RANGES:
        yield from _number_lines(name, given)
    else:
        yield f"{name}={property_text(given[name])}"


def _level_lines(name: str, given: Mapping[str, PropertyValue]) -> Iterator[str]:
    codec, level = name.split(".")[1], int(given[name])
    if codec != given.get("compression.type"):
        yield _no_counterpart(name, given, "only the active codec has a level")
    elif codec == "lz4" and level == DEFAULTS[name]:
        yield f"# {name}={level} is the fast compressor in Java; here it is level 0."
        yield "compression.level=0"
    elif codec == "lz4" and level < _LEAST_LZ4_HC_LEVEL:
        yield _no_counterpart(name, given, f"levels below {_LEAST_LZ4_HC_LEVEL} use the fast compressor")
    elif codec == "lz4" and level > _MOST_LEVEL:
        yield f"# {name}={level} compresses like level {_MOST_LEVEL}, the highest of lz4."
        yield f"compression.level={_MOST_LEVEL}"
    elif codec == "zstd" and not 0 <= level <= _MOST_LEVEL:
        yield _no_counterpart(name, given, f"for zstd it accepts levels 0 to {_MOST_LEVEL}; its default, 3, applies")
    else:
        yield f"compression.level={level}"


def _number_lines(name: str, given: Mapping[str, PropertyValue]) -> Iterator[str]:
    known_as, (least, most) = LIBRDKAFKA_NAMES.get(name, name), _LIBRDKAFKA_RANGES[name]
    number = int(given[name])
    if (name, number) in _OFF_IN_LIBRDKAFKA:
        yield f"{known_as}={_OFF_IN_LIBRDKAFKA[name, number]}"
        return
    if name == "buffer.memory":
        number = max(number // _BYTES_IN_A_KBYTE, 1)
    elif name == "max.request.size" and number < int(given["batch.size"]) <= most:
        number = int(given["batch.size"])  # unlike in Java, it limits a batch here
    if not least <= number <= most:
        yield _no_counterpart(name, given, f"it accepts {least:,} to {most:,}")
        return
    if name == "batch.size" and (record_bytes := number // _DEFAULT_BATCH_MESSAGES) >= _SMALL_RECORD_BYTES:
        bound = f"batch.num.messages, {_DEFAULT_BATCH_MESSAGES:,} by default,"
        yield f"# {bound} limits batches of records below {record_bytes} B; raise it for them."
    yield f"{known_as}={number}"
    if name == "buffer.memory":
        yield "queue.buffering.max.messages=0"  # limited by bytes alone, as in Java


def _no_counterpart(name: str, given: Mapping[str, PropertyValue], reason: str) -> str:
    return f"# {name}={property_text(given[name])} has no counterpart: {reason}."
