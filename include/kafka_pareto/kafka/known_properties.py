"""Define the settings of Kafka's producer, their types and bounds, and the resulting durability.

Names, types and defaults are from `ProducerConfig.configDef()` in Kafka 4.3.1, without those that no study varies:
servers, credentials, classes and serializers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import IntEnum
from typing import Annotated, TypeAlias

from pydantic import Field

from kafka_pareto.errors import did_you_mean

PropertyValue: TypeAlias = str | int | float | bool

Bounds: TypeAlias = tuple[int, int | None]
"""Minimum and maximum; None if unbounded."""
INT_MAX = 2147483647
"""Maximum of Kafka's type INT, the only upper bound of many settings."""

_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,19}")

DEFAULTS: dict[str, PropertyValue] = {
    "acks": "all",
    "batch.size": 16384,
    "buffer.memory": 33554432,
    "compression.gzip.level": -1,
    "compression.lz4.level": 9,
    "compression.type": "none",
    "compression.zstd.level": 3,
    "connections.max.idle.ms": 540000,
    "delivery.timeout.ms": 120000,
    "enable.idempotence": True,
    "linger.ms": 5,
    "max.block.ms": 60000,
    "max.in.flight.requests.per.connection": 5,
    "max.request.size": 1048576,
    "metadata.max.age.ms": 300000,
    "partitioner.adaptive.partitioning.enable": True,
    "partitioner.availability.timeout.ms": 0,
    "partitioner.ignore.keys": False,
    "receive.buffer.bytes": 32768,
    "request.timeout.ms": 30000,
    "retries": 2147483647,
    "retry.backoff.max.ms": 1000,
    "retry.backoff.ms": 100,
    "send.buffer.bytes": 131072,
}

IN_FLIGHT = "max.in.flight.requests.per.connection"
MOST_IN_FLIGHT_IDEMPOTENT = 5
"""Maximum of that setting with which a producer can be idempotent."""
DURABILITY_PROPERTIES = ("acks", "enable.idempotence", IN_FLIGHT, "retries")
"""The properties that determine a producer's durability guarantee."""

CHOICES: dict[str, tuple[str, ...]] = {
    "acks": ("0", "1", "all"),
    "compression.type": ("none", "gzip", "snappy", "lz4", "zstd"),
    "enable.idempotence": ("true", "false"),
    "partitioner.adaptive.partitioning.enable": ("true", "false"),
    "partitioner.ignore.keys": ("true", "false"),
}

BOUNDS: dict[str, Bounds] = {
    "batch.size": (0, INT_MAX),
    "buffer.memory": (0, None),
    "compression.gzip.level": (-1, 9),
    "compression.lz4.level": (1, 17),
    "compression.zstd.level": (-131072, 22),
    "delivery.timeout.ms": (0, INT_MAX),
    "linger.ms": (0, None),
    "max.block.ms": (0, None),
    "max.in.flight.requests.per.connection": (1, INT_MAX),
    "max.request.size": (0, INT_MAX),
    "metadata.max.age.ms": (0, None),
    "partitioner.availability.timeout.ms": (0, None),
    "receive.buffer.bytes": (-1, INT_MAX),
    "request.timeout.ms": (0, INT_MAX),
    "retries": (0, INT_MAX),
    "retry.backoff.max.ms": (0, None),
    "retry.backoff.ms": (0, None),
    "send.buffer.bytes": (-1, INT_MAX),
}


class Durability(IntEnum):
    """Durability guarantees of an acknowledged record, from weakest to strongest.

    Producers guarantee at least `acks_0`; `received` is for a component before Kafka that acknowledges in memory.
    """

    received = -1
    acks_0 = 0
    acks_1 = 1
    acks_all = 2
    acks_all_idempotent = 3


PRODUCER_DURABILITIES = tuple(each for each in Durability if each >= Durability.acks_0)
"""The guarantees that a producer can give."""
DurabilityName: TypeAlias = Annotated[str, Field(pattern=f"^({'|'.join(Durability.__members__)})$")]
"""The name of a durability, checked by pydantic."""


def unknown_property_rule(name: str) -> str:
    """Return the error for an unknown producer property, with the name probably meant."""
    return f"is not a tunable property of Kafka's producer{did_you_mean(name, DEFAULTS)}"


def resolved(properties: Mapping[str, PropertyValue]) -> dict[str, PropertyValue]:
    """Return the tunable properties as the producer applies them, with defaults for those not given."""
    merged = {**DEFAULTS, **properties}
    merged["acks"] = "all" if str(merged["acks"]) == "-1" else str(merged["acks"])
    merged["enable.idempotence"] = is_idempotent(properties)
    return merged


def is_idempotent(properties: Mapping[str, PropertyValue]) -> bool:
    """Return whether the producer is idempotent (KIP-679: on by default, silently off if a setting conflicts).

    More than 5 requests in flight conflict, as before Kafka 4.0. Later clients then start only with
    `enable.idempotence=false`.
    """
    stated = str(properties.get("enable.idempotence", "true")).lower() == "true"
    acks = str(properties.get("acks", "all"))
    in_flight = int(properties.get(IN_FLIGHT, MOST_IN_FLIGHT_IDEMPOTENT))
    retries = int(properties.get("retries", 1))
    return stated and acks in ("all", "-1") and in_flight <= MOST_IN_FLIGHT_IDEMPOTENT and retries > 0


def durability_of(properties: Mapping[str, PropertyValue]) -> Durability:
    """Return the durability guarantee of a producer with these properties."""
    acks = str(properties.get("acks", "all"))
    if acks == "0":
        return Durability.acks_0
    if acks == "1":
        return Durability.acks_1
    return Durability.acks_all_idempotent if is_idempotent(properties) else Durability.acks_all


def typed_value(name: str, text: str) -> PropertyValue:
    """Convert the text of a property to a value of its type.

    Raises:
        ValueError: If the text is not one of the property's choices or not a whole number within its bounds.
    """
    value = value_of(name, "all" if (name, text) == ("acks", "-1") else text, DEFAULTS, CHOICES, BOUNDS)
    if (name, value) == ("compression.gzip.level", 0):
        raise ValueError(f"{name}: 0 must be -1 (the default) or 1 to 9")
    return value


def value_of(
    name: str,
    text: str,
    defaults: Mapping[str, PropertyValue],
    choices: Mapping[str, tuple[str, ...]],
    bounds: Mapping[str, Bounds],
) -> PropertyValue:
    """Convert the text of a property to a value of its default's type.

    Raises:
        ValueError: If the text is not one of the property's choices or not a whole number within its bounds.
    """
    if name in choices and text not in choices[name]:
        raise ValueError(f"{name}: {text!r} must be one of {', '.join(choices[name])}")
    if isinstance(defaults[name], bool):
        return text == "true"
    if isinstance(defaults[name], str):
        return text
    if not _WHOLE_NUMBER.fullmatch(text):
        raise ValueError(f"{name}: {text!r} must be a whole number")
    number, (least, most) = int(text), bounds.get(name, (None, None))
    least, most = _LONG_MIN if least is None else least, _LONG_MAX if most is None else most
    if number < least:
        raise ValueError(f"{name}: {number} must be at least {least}")
    if number > most:
        raise ValueError(f"{name}: {number} must be at most {most}")
    return number
