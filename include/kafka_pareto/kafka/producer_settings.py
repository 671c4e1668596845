"""The tunable settings of one client's producer: names, types, defaults, and what follows from their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from kafka_pareto.errors import did_you_mean
from kafka_pareto.kafka import known_properties
from kafka_pareto.kafka.known_properties import BOUNDS, CHOICES, DEFAULTS, Bounds, Durability, PropertyValue

ProducerClient: TypeAlias = Literal["java", "librdkafka"]
Properties: TypeAlias = Mapping[str, PropertyValue]


@dataclass(frozen=True)
class ProducerSettings:
    """The settings of one client's producer.

    Attributes:
        client: The client, as load tools name it.
        owner: The same in the possessive, for messages.
        typed_value: Converts the text of a setting to a value of its type, or raises a ValueError with the rule.
        resolved: Returns all settings as the producer applies them.
        buffer: Returns the largest size of the producer's buffer in bytes and in records, for records of this size in
            bytes.
    """

    client: ProducerClient
    owner: str
    defaults: Properties
    choices: Mapping[str, tuple[str, ...]]
    bounds: Mapping[str, Bounds]
    typed_value: Callable[[str, str], PropertyValue]
    resolved: Callable[[Properties], dict[str, PropertyValue]]
    buffer: Callable[[Properties, int], tuple[int, int]]

    def unknown(self, name: str) -> str:
        """Return the error for an unknown setting, with the name probably meant."""
        return f"is not a tunable property of {self.owner} producer{did_you_mean(name, self.defaults)}"

    def stated(self, properties: Properties) -> dict[str, PropertyValue]:
        """Return the settings with resolved idempotence: one that conflicts with another setting would be an error."""
        return {**properties, "enable.idempotence": self.is_idempotent(properties)}

    def is_idempotent(self, properties: Properties) -> bool:
        """Return whether a producer with these settings is idempotent."""
        return bool(self.resolved(properties)["enable.idempotence"])

    def durability_of(self, properties: Properties) -> Durability:
        """Return the durability guarantee of a producer with these settings."""
        return known_properties.durability_of(self.resolved(properties))


def _javas_buffer(properties: Properties, record_bytes: int) -> tuple[int, int]:
    buffer_bytes = int(properties.get("buffer.memory", DEFAULTS["buffer.memory"]))
    return buffer_bytes, buffer_bytes // record_bytes


JAVA = ProducerSettings(
    client="java",
    owner="Kafka's",
    defaults=DEFAULTS,
    choices=CHOICES,
    bounds=BOUNDS,
    typed_value=known_properties.typed_value,
    resolved=known_properties.resolved,
    buffer=_javas_buffer,
)
"""The producer of Kafka's client for Java."""
