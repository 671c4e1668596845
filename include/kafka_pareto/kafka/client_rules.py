"""Define the rules for reading and checking a user's settings file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from kafka_pareto.kafka.known_properties import PropertyValue

ClientName: TypeAlias = Literal["producer", "consumer", "librdkafka"]
"""A client whose settings file a study may name: Java's producer or consumer, or librdkafka's producer."""
JAVA_PRODUCER: ClientName = "producer"
"""The client of a study whose driver names none."""
Form: TypeAlias = Literal["Java properties", "Spring Boot", "librdkafka"]
Used: TypeAlias = Mapping[str, PropertyValue]
"""Maps Kafka's names of a file's tunable settings to values."""

COMMON_NOT_VARIED = (
    r"bootstrap\.servers|client\.(id|rack|dns\.lookup)|config\.providers|enable\.metrics\.push"
    r"|metadata\.(max\.idle\.ms|recovery\.[a-z.]+)|metric\.reporters|metrics\.[a-z.]+|reconnect\.backoff\.(max\.)?ms"
    r"|s(asl|sl)\.[a-z.]+|security\.(protocol|providers)|socket\.connection\.setup\.timeout\.(max\.)?ms"
)
"""Matches settings of both clients that no study varies."""


@dataclass(frozen=True)
class ClientRules:
    """The rules for one client's file.

    Attributes:
        name: The client in words.
        other: The name of the other client.
        defaults: Kafka's defaults of the tunable settings; all others are ignored.
        typed_value: Converts the text of a tunable setting, or raises a ValueError with the rule.
        not_varied: Matches the client's other settings.
        of_the_other: The other client's settings.
        changes_the_meaning: Returns the reason why a setting with this value cannot be measured; empty if it can.
        set_by_the_load: Settings that the load generator sets itself, with the reason.
        never_empty: Settings that may be missing but not empty.
        why_no_start: Returns the reason why a client with these settings does not start or work, given the tunable
            settings, their names as written, and all texts by Kafka's names; empty if it works.
        notes: Yields the assumptions of a measurement, given the form, the tunable settings and all texts.
        spring_names: Kafka's names by Spring's keys, which are in lower case without separators.
        spring_values: Converters of such a key's value (name as written, text), by Kafka's name.
        librdkafka_defaults: librdkafka's defaults that differ from Java's, as shown.
        spring_defaults: Spring's defaults that differ from Kafka's, as shown.
        example: A setting, for messages.
    """

    client: ClientName
    name: str
    other: ClientName
    defaults: Mapping[str, PropertyValue]
    typed_value: Callable[[str, str], PropertyValue]
    not_varied: re.Pattern[str]
    of_the_other: Mapping[str, PropertyValue]
    changes_the_meaning: Callable[[str, str], str]
    set_by_the_load: Mapping[str, str]
    never_empty: tuple[str, ...]
    why_no_start: Callable[[Used, Mapping[str, str], Mapping[str, str]], str]
    notes: Callable[[Form, Used, Mapping[str, str]], Iterable[str]]
    spring_names: Mapping[str, str]
    spring_values: Mapping[str, Callable[[str, str], str]]
    librdkafka_defaults: Mapping[str, str]
    spring_defaults: Mapping[str, str]
    example: str

    @property
    def nothing_used(self) -> str:
        """Return the error for a file without a tunable setting."""
        return f"has no tunable property of {self.name}, such as {self.example}"

    def unstated_defaults(self, form: Form, used: Used) -> dict[str, str]:
        """Return unset settings whose default in this form differs from Java's, with the default as shown."""
        others = {"librdkafka": self.librdkafka_defaults, "Spring Boot": self.spring_defaults}.get(form, {})
        return {name: shown for name, shown in others.items() if name not in used}
