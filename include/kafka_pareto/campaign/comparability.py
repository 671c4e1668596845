"""Differences that make measurements of two campaigns incomparable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Fingerprint
from kafka_pareto.campaign.sent_text import stored_digest
from kafka_pareto.study.declaration import Driver

_OF_THE_MACHINE = ("client_cpu", "client_cores", "load_and_brokers_share_a_machine")


def differences_of_campaigns(then: Campaign, now: Campaign) -> list[str]:
    """List differences of factors and conditions, the text to send included, each with key and both values."""
    conditions = [{"factors": sorted(each.study.varied_factors)} | each.study.conditions() for each in (then, now)]
    if found := _differing("", *conditions):
        return found
    if now.study.text_file() is None:
        return []
    before, after = stored_digest(then.store, then.keys), stored_digest(now.store, now.keys)
    if before is None or after is None:
        return [f"{now.study.text_key}: the text is no longer in the store"]
    if before == after:
        return []
    return [f"{now.study.text_key}: the text has changed"]


def differences_of_systems(then: Fingerprint, now: Fingerprint, driver: Driver) -> list[str]:
    """List the differences of the system alone, each with key and both values."""
    return _differing("fingerprint.", _system_of(then, driver), _system_of(now, driver))


def differences_of_testbeds(then: Fingerprint, now: Fingerprint, driver: Driver) -> list[str]:
    """List the differences of the system and the client's machine, each with key and both values."""
    machines = [{name: getattr(each, name) for name in _OF_THE_MACHINE} for each in (then, now)]
    return differences_of_systems(then, now, driver) + _differing("fingerprint.", *machines)


def _system_of(fingerprint: Fingerprint, driver: Driver) -> dict[str, Any]:
    """Return the system's identity; lists, like that of brokers, by length only, since addresses may change."""
    known = {name: fingerprint.system.get(name) for name in (*driver.counted, *driver.identity)}
    return {name: len(value) if isinstance(value, list) else value for name, value in known.items()}


def _differing(place: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    keys = [key for key in {**then, **now} if then.get(key) != now.get(key)]
    return [f"{place}{key}: {_said(then.get(key))} then, {_said(now.get(key))} now" for key in keys]


def _said(value: Any) -> str:
    if value is None:
        return "none"
    return ", ".join(value) if isinstance(value, list) else str(value)
