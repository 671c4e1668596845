"""Settings of client, load or brokers that a comparison can vary."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from kafka_pareto.kafka.known_properties import Bounds, PropertyValue
from kafka_pareto.study.factors import CategoricalFactor, Factor, FactorValue, NumericFactor

Scope: TypeAlias = Literal["client", "load", "broker"]
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,19}")


@dataclass(frozen=True)
class Setting:
    """One setting, by its name in study files, of its default's type.

    Attributes:
        choices: Allowed texts; empty for a number or any text.
        properties: Broker properties that it sets; by default its own name.
    """

    name: str
    default: PropertyValue
    scope: Scope
    choices: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    properties: tuple[str, ...] = ()

    @property
    def is_number(self) -> bool:
        """Return whether its values are whole numbers."""
        return isinstance(self.default, int) and not isinstance(self.default, bool)

    def value(self, given: PropertyValue) -> FactorValue:
        """Return a whole number, or a text in lower case; the ValueError names setting, value and rule."""
        text = str(given).lower() if isinstance(given, bool) or not self.is_number else str(given)
        if not self.is_number:
            if self.choices and text not in self.choices:
                raise ValueError(f"{self.name}: {given!r}: must be one of {', '.join(self.choices)}")
            return text
        if isinstance(given, bool) or not _WHOLE_NUMBER.fullmatch(text):
            raise ValueError(f"{self.name}: {given!r}: must be a whole number")
        number = int(text)
        if self.least is not None and number < self.least:
            raise ValueError(f"{self.name}: {number}: must be at least {self.least}")
        if self.most is not None and number > self.most:
            raise ValueError(f"{self.name}: {number}: must be at most {self.most}")
        return number

    def of(self, levels: Sequence[PropertyValue]) -> list[FactorValue]:
        """Return levels as configurations hold them."""
        return [self.value(level) for level in levels]

    def factor(self, levels: list[FactorValue]) -> Factor:
        """Return the setting as a factor with these levels."""
        if not self.is_number:
            return CategoricalFactor(type="categorical", levels=[str(level) for level in levels])
        return NumericFactor(type="integer", levels=sorted(int(level) for level in levels))


def client_settings(
    defaults: Mapping[str, PropertyValue], choices: Mapping[str, tuple[str, ...]], bounds: Mapping[str, Bounds]
) -> dict[str, Setting]:
    """Return a client's properties as settings, by name."""
    return {
        name: Setting(name, default, "client", choices.get(name, ()), *bounds.get(name, (None, None)))
        for name, default in defaults.items()
    }


def _brokers(name: str, default: int, *properties: str) -> Setting:
    return Setting(name, default, "broker", least=1, properties=properties)


# Defaults are those of Kafka 4.3.1.
BROKER_SETTINGS: dict[str, Setting] = {
    each.name: each
    for each in (
        _brokers("num.network.threads", 3),
        _brokers("num.io.threads", 8),
        _brokers("num.replica.fetchers", 1),
        _brokers("queued.max.requests", 500),
        _brokers("log.flush.interval.messages", 9223372036854775807),
        _brokers("replica.fetch.wait.max.ms", 500),
        _brokers("replica.fetch.min.bytes", 1),
        _brokers("replica.fetch.max.bytes", 1048576),
        # Both directions at once, as guides advise them.
        _brokers("socket.buffer.bytes", 102400, "socket.send.buffer.bytes", "socket.receive.buffer.bytes"),
    )
}
"""Broker settings that a study with its own brokers can vary."""
