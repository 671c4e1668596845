"""The monitor's alert rules as data, and their state."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from kafka_pareto.drivers.services.programs.messages import Record

Watched = Literal["latency_p95_ms", "orders_s", "lag_orders", "replicas_out_of_sync", "brokers_gone"]

_BELOW: tuple[Watched, ...] = ("orders_s",)
_OF_ORDERS: tuple[Watched, ...] = ("latency_p95_ms", "orders_s")


@dataclass(frozen=True)
class Rule:
    """An alert beyond a bound on a watched value: above it, or below it for `orders_s`."""

    watched: Watched
    bound: float

    def is_broken_by(self, value: float) -> bool:
        """Return whether the value is beyond the bound."""
        return value < self.bound if self.watched in _BELOW else value > self.bound


def rules_of(text: str) -> list[Rule]:
    """Parse rules from a JSON object of bounds by watched value.

    Raises:
        ValueError: If a watched value is unknown.
    """
    bounds = json.loads(text)
    if unknown := [name for name in bounds if name not in get_args(Watched)]:
        raise ValueError(f"--rules: {unknown[0]}: must be one of {', '.join(get_args(Watched))}")
    return [Rule(name, float(bound)) for name, bound in bounds.items()]


class Alerts:
    """Track which rules are broken, and since when."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = list(rules)
        self._since: dict[Watched, float] = {}

    def of(self, values: Mapping[str, float], now: float, *, is_idle: bool = False) -> list[Record]:
        """Return an alert for each rule that has just been broken or cleared, given the values known now.

        While the chain `is_idle`, with no order under way, a rule about orders holds without a value.
        """
        alerts = []
        for rule in self._rules:
            value = values.get(rule.watched)
            if value is None and not (is_idle and rule.watched in _OF_ORDERS):
                continue
            is_broken, was_broken = value is not None and rule.is_broken_by(value), rule.watched in self._since
            if is_broken == was_broken:
                continue
            since = self._since.pop(rule.watched) if was_broken else self._since.setdefault(rule.watched, now)
            state = "raised" if is_broken else "cleared"
            alert_id = f"{rule.watched}-{state}-{since:.3f}"
            alerts.append(
                {
                    "alert_id": alert_id,
                    "rule": rule.watched,
                    "state": state,
                    "value": value,
                    "bound": rule.bound,
                    "since": since,
                }
            )
        return alerts
