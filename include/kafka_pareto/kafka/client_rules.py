"""The shape of the rules by which a user's settings file is read and judged, one set for each of Kafka's clients."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from kafka_pareto.kafka.known_properties import PropertyValue

ClientName: TypeAlias = Literal["producer", "consumer"]
Form: TypeAlias = Literal["Java properties", "Spring Boot", "librdkafka"]
Used: TypeAlias = Mapping[str, PropertyValue]
"""The tunable settings of a file, by Kafka's names."""

COMMON_NOT_VARIED = (
    r"bootstrap\.servers|client\.(id|rack|dns\.lookup)|config\.providers|enable\.metrics\.push"
    r"|metadata\.(max\.idle\.ms|recovery\.[a-z.]+)|metric\.reporters|metrics\.[a-z.]+|reconnect\.backoff\.(max\.)?ms"
    r"|s(asl|sl)\.[a-z.]+|security\.(protocol|providers)|socket\.connection\.setup\.timeout\.(max\.)?ms"
)
"""Names of both clients that no study varies."""


@dataclass(frozen=True)
class ClientRules:
    """The rules for one client's file.

    Attributes:
        defaults: Kafka's defaults of the settings that are used; all others are left out.
        typed_value: Converts the text of such a setting, or raises a ValueError with the rule.
        not_varied: Matches the other names that Kafka's client knows.
        of_the_other: The other client's settings, and `other`, its name.
        changes_the_meaning: Returns why a setting with this value cannot be measured; empty if it can be.
        set_by_the_load: Settings that are known, and not taken over by a measurement, each with the reason.
        never_empty: Names without which the client starts, but not with an empty value.
        why_no_start: Returns why a client with these settings does not start or work, given the used settings, their
            names as written, and all texts by Kafka's names; empty if it works.
        notes: Yields what a measurement of these settings assumes, given the form, the used settings and all texts.
        spring_names: Kafka's names of Spring's own keys, without separators and in lower case.
        spring_values: Converts the value of such a key (its name as written, its text), by Kafka's name.
        librdkafka_defaults: librdkafka's defaults that are not Java's, as shown.
        spring_defaults: The same of Spring.
        example: A setting, for messages.
    """

    client: ClientName
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
        return f"holds no tunable property of Kafka's {self.client}, like {self.example}"

    def unstated_defaults(self, form: Form, used: Used) -> dict[str, str]:
        """Return the settings not used whose defaults in this form are not Java's, with the default as shown."""
        others = {"librdkafka": self.librdkafka_defaults, "Spring Boot": self.spring_defaults}.get(form, {})
        return {name: shown for name, shown in others.items() if name not in used}
