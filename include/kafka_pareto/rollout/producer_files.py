"""Says settings in the three forms that producers read.

The names of librdkafka's settings are from its CONFIGURATION.md. Those of Spring Boot are from its application
properties, `spring.kafka`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from kafka_pareto.kafka.producer_config import PropertyValue
from kafka_pareto.kafka.properties_file import properties_lines, property_text

# Spring Boot has a key of its own for these; the others go below `properties`.
_SPRING_KEYS = {
    "acks": "acks",
    "batch.size": "batch-size",
    "buffer.memory": "buffer-memory",
    "compression.type": "compression-type",
    "retries": "retries",
}
_LIBRDKAFKA_NAMES = {
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
}
_NOT_IN_LIBRDKAFKA = {
    "max.block.ms": "its produce call returns at once when the queue is full",
    "partitioner.adaptive.partitioning.enable": "its partitioner does not adapt",
    "partitioner.availability.timeout.ms": "its partitioner does not adapt",
    "partitioner.ignore.keys": "choose a `partitioner` instead",
}
# In Java, 0 or -1 turns these off or leaves them to the system; librdkafka has its least value for that.
_LEAST_IN_LIBRDKAFKA = {
    "batch.size": 1,
    "connections.max.idle.ms": 0,
    "receive.buffer.bytes": 0,
    "retry.backoff.max.ms": 1,
    "retry.backoff.ms": 1,
    "send.buffer.bytes": 0,
}
_BYTES_IN_A_KBYTE = 1024


def java_properties(properties: Mapping[str, PropertyValue]) -> str:
    """Returns the properties as Java's clients read them."""
    return properties_lines({name: properties[name] for name in sorted(properties)})


def spring_yaml(properties: Mapping[str, PropertyValue]) -> str:
    """Returns the properties as Spring Boot's `application.yaml`."""
    producer: dict[str, Any] = {_SPRING_KEYS[name]: properties[name] for name in _SPRING_KEYS if name in properties}
    if others := {name: properties[name] for name in sorted(properties) if name not in _SPRING_KEYS}:
        producer["properties"] = others
    text: str = yaml.safe_dump({"spring": {"kafka": {"producer": producer}}}, sort_keys=False)
    return text


def librdkafka_properties(properties: Mapping[str, PropertyValue]) -> str:
    """Returns librdkafka's names and units; a comment names what it does not have."""
    lines = ["# Measured with Java's producer; librdkafka fills its batches in its own way: measure there, too."]
    for name in sorted(properties):
        value = properties[name]
        if reason := _NOT_IN_LIBRDKAFKA.get(name):
            lines.append(f"# {name}={property_text(value)} has no counterpart: {reason}.")
        elif name == "buffer.memory":
            lines.append(f"# {name}={value} in KiB; queue.buffering.max.messages bounds the same queue by number.")
            lines.append(f"queue.buffering.max.kbytes={max(int(value) // _BYTES_IN_A_KBYTE, 1)}")
        elif name.startswith("compression.") and name.endswith(".level"):
            if name == f"compression.{properties.get('compression.type')}.level":
                lines.append(f"compression.level={value}")
            else:
                lines.append(f"# {name}={value} has no counterpart: there is one level, of the codec in use.")
        else:
            if name in _LEAST_IN_LIBRDKAFKA:
                value = max(int(value), _LEAST_IN_LIBRDKAFKA[name])
            lines.append(f"{_LIBRDKAFKA_NAMES.get(name, name)}={property_text(value)}")
    return "\n".join(lines) + "\n"
