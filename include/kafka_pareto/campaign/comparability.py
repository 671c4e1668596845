"""Differences that make measurements of two campaigns incomparable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Fingerprint
from kafka_pareto.study.declaration import Driver

_OF_THE_MACHINE = ("client_cpu", "client_cores", "load_and_brokers_share_a_machine")


def differences_of_campaigns(then: Campaign, now: Campaign) -> list[str]:
    """List differences of factors and conditions, the text to send included, each with key and both values."""
    old, new = then.study, now.study
    return [
        *_differing("", {"factors": sorted(old.varied_factors)}, {"factors": sorted(new.varied_factors)}),
        *_differing("", old.conditions(), new.conditions()),
    ] or _difference_of_texts(then, now)


def differences_of_systems(then: Fingerprint, now: Fingerprint, driver: Driver) -> list[str]:
    """List the differences of the system alone, each with key and both values."""
    return _differing("fingerprint.", _system_of(then, driver), _system_of(now, driver))


def differences_of_testbeds(then: Fingerprint, now: Fingerprint, driver: Driver) -> list[str]:
    """List the differences of the system and the client's machine, each with key and both values."""
    return _differing("fingerprint.", _testbed_of(then, driver), _testbed_of(now, driver))


def _difference_of_texts(then: Campaign, now: Campaign) -> list[str]:
    if now.study.text_file() is None:
        return []
    same = then.store.get(then.keys.payload()) == now.store.get(now.keys.payload())
    return [] if same else [f"{now.study.text_key}: holds another text now"]


def _system_of(fingerprint: Fingerprint, driver: Driver) -> dict[str, Any]:
    """Return the system's identity; lists, like that of brokers, by length only, since addresses may change."""
    known = {name: fingerprint.system.get(name) for name in (*driver.counted, *driver.identity)}
    return {name: len(value) if isinstance(value, list) else value for name, value in known.items()}


def _testbed_of(fingerprint: Fingerprint, driver: Driver) -> dict[str, Any]:
    return _system_of(fingerprint, driver) | {name: getattr(fingerprint, name) for name in _OF_THE_MACHINE}


def _differing(place: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    keys = [key for key in {**then, **now} if then.get(key) != now.get(key)]
    return [f"{place}{key}: {_said(then.get(key))} then, {_said(now.get(key))} now" for key in keys]


def _said(value: Any) -> str:
    if value is None:
        return "none"
    return ", ".join(value) if isinstance(value, list) else str(value)
