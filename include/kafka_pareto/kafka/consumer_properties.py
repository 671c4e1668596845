"""Define the settings of Kafka's consumer and their defaults.

Names, types and defaults are from `ConsumerConfig.configDef()` in Kafka 4.3.1, without those that no study varies:
servers, groups, credentials, classes and deserializers.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_pareto.errors import did_you_mean
from kafka_pareto.kafka.known_properties import INT_MAX, Bounds, PropertyValue, value_of

DEFAULTS: dict[str, PropertyValue] = {
    "auto.commit.interval.ms": 5000,
    "check.crcs": True,
    "connections.max.idle.ms": 540000,
    "enable.auto.commit": True,
    "fetch.max.bytes": 52428800,
    "fetch.max.wait.ms": 500,
    "fetch.min.bytes": 1,
    "group.protocol": "classic",
    "heartbeat.interval.ms": 3000,
    "isolation.level": "read_uncommitted",
    "max.partition.fetch.bytes": 1048576,
    "max.poll.interval.ms": 300000,
    "max.poll.records": 500,
    "metadata.max.age.ms": 300000,
    "receive.buffer.bytes": 65536,
    "request.timeout.ms": 30000,
    "retry.backoff.max.ms": 1000,
    "retry.backoff.ms": 100,
    "send.buffer.bytes": 131072,
    "session.timeout.ms": 45000,
}

CHOICES: dict[str, tuple[str, ...]] = {
    "check.crcs": ("true", "false"),
    "enable.auto.commit": ("true", "false"),
    "group.protocol": ("classic", "consumer"),
    "isolation.level": ("read_uncommitted", "read_committed"),
}

BOUNDS: dict[str, Bounds] = {
    "auto.commit.interval.ms": (0, INT_MAX),
    "fetch.max.bytes": (0, INT_MAX),
    "fetch.max.wait.ms": (0, INT_MAX),
    "fetch.min.bytes": (0, INT_MAX),
    "max.partition.fetch.bytes": (0, INT_MAX),
    "max.poll.interval.ms": (1, INT_MAX),
    "max.poll.records": (1, INT_MAX),
    "metadata.max.age.ms": (0, None),
    "receive.buffer.bytes": (-1, INT_MAX),
    "request.timeout.ms": (0, INT_MAX),
    "retry.backoff.max.ms": (0, None),
    "retry.backoff.ms": (0, None),
    "send.buffer.bytes": (-1, INT_MAX),
}

_SESSION = ("heartbeat.interval.ms", "session.timeout.ms")
SET_BY_THE_BROKERS = (*_SESSION, "partition.assignment.strategy")
"""Properties that brokers set with `group.protocol` consumer, so the consumer rejects them (KIP-848)."""

AUTO_OFFSET_RESET = "auto.offset.reset"
"""Start of a group without offsets; no study varies it, since a measured group reads the whole topic."""


def unknown_property_rule(name: str) -> str:
    """Return the error for an unknown consumer property, with the name probably meant."""
    return f"is not a tunable property of Kafka's consumer{did_you_mean(name, DEFAULTS)}"


def resolved(properties: Mapping[str, PropertyValue]) -> dict[str, PropertyValue]:
    """Return all tunable properties: the given values, and defaults for the others."""
    return {**DEFAULTS, **properties}


def typed_value(name: str, text: str) -> PropertyValue:
    """Convert the text of a property to a value of its type.

    Raises:
        ValueError: If the text is not one of the property's choices or not a whole number within its bounds.
    """
    return value_of(name, text, DEFAULTS, CHOICES, BOUNDS)


def conflict_in(properties: Mapping[str, PropertyValue]) -> str:
    """Return the rule broken by a combination that keeps a consumer from starting; empty if there is none."""
    if str(properties.get("group.protocol", "classic")).lower() == "consumer":
        given = [name for name in SET_BY_THE_BROKERS if name in properties]
        return f"{given[0]} must not be set with group.protocol=consumer, since the brokers set it" if given else ""
    heartbeat_ms, session_ms = (int(resolved(properties)[name]) for name in _SESSION)
    if heartbeat_ms < 0:
        return f"heartbeat.interval.ms {heartbeat_ms} must be at least 0"
    if heartbeat_ms >= session_ms:
        return f"heartbeat.interval.ms {heartbeat_ms} must be below session.timeout.ms {session_ms}"
    return ""
