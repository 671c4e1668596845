"""Define the settings of librdkafka's producer, their types and bounds (CONFIGURATION.md, 2.16).

Where librdkafka accepts the name of Java's client, too, that is the name here. Settings that no study varies are
missing: servers, credentials, callbacks and logs.
"""

from __future__ import annotations

from kafka_pareto.kafka.known_properties import (
    IN_FLIGHT,
    INT_MAX,
    MOST_IN_FLIGHT_IDEMPOTENT,
    Bounds,
    PropertyValue,
    is_idempotent,
    value_of,
)
from kafka_pareto.kafka.producer_settings import JAVA, ProducerClient, ProducerSettings, Properties

DEFAULTS: dict[str, PropertyValue] = {
    "acks": "all",
    "batch.num.messages": 10_000,
    "batch.size": 1_000_000,
    "compression.level": -1,
    "compression.type": "none",
    "connections.max.idle.ms": 0,
    "delivery.timeout.ms": 300_000,
    "enable.idempotence": False,
    "linger.ms": 5,
    "max.in.flight.requests.per.connection": 1_000_000,
    "message.copy.max.bytes": 65_535,
    "message.max.bytes": 1_000_000,
    "metadata.max.age.ms": 900_000,
    "partitioner": "consistent_random",
    "queue.buffering.backpressure.threshold": 1,
    "queue.buffering.max.kbytes": 1_048_576,
    "queue.buffering.max.messages": 100_000,
    "request.timeout.ms": 30_000,
    "retries": INT_MAX,
    "retry.backoff.max.ms": 1_000,
    "retry.backoff.ms": 100,
    "socket.nagle.disable": True,
    "socket.receive.buffer.bytes": 0,
    "socket.send.buffer.bytes": 0,
    "sticky.partitioning.linger.ms": 10,
}

CHOICES: dict[str, tuple[str, ...]] = {
    "acks": ("0", "1", "all"),
    "compression.type": ("none", "gzip", "snappy", "lz4", "zstd"),
    "enable.idempotence": ("true", "false"),
    "partitioner": ("random", "consistent", "consistent_random", "murmur2", "murmur2_random", "fnv1a", "fnv1a_random"),
    "socket.nagle.disable": ("true", "false"),
}

BOUNDS: dict[str, Bounds] = {
    "batch.num.messages": (1, 1_000_000),
    "batch.size": (1, INT_MAX),
    "compression.level": (-1, 12),
    "connections.max.idle.ms": (0, INT_MAX),
    "delivery.timeout.ms": (0, INT_MAX),
    "linger.ms": (0, 900_000),
    "max.in.flight.requests.per.connection": (1, 1_000_000),
    "message.copy.max.bytes": (0, 1_000_000_000),
    "message.max.bytes": (1_000, 1_000_000_000),
    "metadata.max.age.ms": (1, 86_400_000),
    "queue.buffering.backpressure.threshold": (1, 1_000_000),
    "queue.buffering.max.kbytes": (1, INT_MAX),
    "queue.buffering.max.messages": (0, INT_MAX),
    "request.timeout.ms": (1, 900_000),
    "retries": (0, INT_MAX),
    "retry.backoff.max.ms": (1, 300_000),
    "retry.backoff.ms": (1, 300_000),
    "socket.receive.buffer.bytes": (0, 100_000_000),
    "socket.send.buffer.bytes": (0, 100_000_000),
    "sticky.partitioning.linger.ms": (0, 900_000),
}

ALIASES = {
    "compression.codec": "compression.type",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "message.send.max.retries": "retries",
    "message.timeout.ms": "delivery.timeout.ms",
    "queue.buffering.max.ms": "linger.ms",
    "request.required.acks": "acks",
}
"""Other names that librdkafka has for a setting."""

_KIB = 1024
_STICKY, _MOST_STICKY_MS = "sticky.partitioning.linger.ms", 900_000
BACKPRESSURE = "queue.buffering.backpressure.threshold"


def typed_value(name: str, text: str) -> PropertyValue:
    """Convert the text of a setting to a value of its type.

    Raises:
        ValueError: If the text is not one of the setting's choices or not a whole number within its bounds.
    """
    return value_of(name, "all" if (name, text) == ("acks", "-1") else text, DEFAULTS, CHOICES, BOUNDS)


def resolved(properties: Properties) -> dict[str, PropertyValue]:
    """Return the settings as the producer applies them: some defaults follow from other settings."""
    merged = {**DEFAULTS, **properties}
    merged["acks"] = "all" if str(merged["acks"]) == "-1" else str(merged["acks"])
    if _STICKY not in properties:
        merged[_STICKY] = min(2 * int(merged["linger.ms"]), _MOST_STICKY_MS)
    is_pressed = int(merged[BACKPRESSURE]) > 1
    merged["enable.idempotence"] = not is_pressed and is_idempotent({"enable.idempotence": False, **properties})
    if merged["enable.idempotence"]:
        merged[IN_FLIGHT] = properties.get(IN_FLIGHT, MOST_IN_FLIGHT_IDEMPOTENT)
    return merged


def _buffer(properties: Properties, record_bytes: int) -> tuple[int, int]:
    applied = resolved(properties)
    fitting = _KIB * int(applied["queue.buffering.max.kbytes"]) // record_bytes
    records = min(int(applied["queue.buffering.max.messages"]) or fitting, fitting)
    return records * record_bytes, records


LIBRDKAFKA = ProducerSettings(
    client="librdkafka",
    owner="librdkafka's",
    defaults=DEFAULTS,
    choices=CHOICES,
    bounds=BOUNDS,
    typed_value=typed_value,
    resolved=resolved,
    buffer=_buffer,
)
"""The producer of librdkafka, and of the clients for C, C++, Python, Go, .NET, Rust and others that build on it."""

SETTINGS: dict[ProducerClient, ProducerSettings] = {each.client: each for each in (JAVA, LIBRDKAFKA)}
"""The settings of every client that can send a load."""
