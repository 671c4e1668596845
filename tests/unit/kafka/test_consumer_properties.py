"""The consumer's settings: their types, and values no consumer starts with."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kafka_pareto.kafka.consumer_properties import (
    CHOICES,
    DEFAULTS,
    conflict_in,
    resolved,
    typed_value,
    unknown_property_rule,
)
from kafka_pareto.kafka.known_properties import PropertyValue

pytestmark = pytest.mark.fast


def test_every_default_is_one_of_its_choices_and_reads_back_as_itself() -> None:
    for name, value in DEFAULTS.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        assert typed_value(name, text) == value
        assert text in CHOICES.get(name, (text,))
    assert set(CHOICES) <= set(DEFAULTS)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("fetch.min.bytes", "much", "fetch.min.bytes: 'much' must be a whole number"),
        ("enable.auto.commit", "perhaps", "enable.auto.commit: 'perhaps' must be one of true, false"),
        ("group.protocol", "streams", "group.protocol: 'streams' must be one of classic, consumer"),
    ],
)
def test_a_value_of_another_kind_is_refused_with_name_and_rule(name: str, text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        typed_value(name, text)


def test_an_unknown_property_is_reported_with_the_nearest_one() -> None:
    assert unknown_property_rule("fetch.min.byte") == (
        "is not a tunable property of Kafka's consumer; did you mean fetch.min.bytes?"
    )


def test_missing_settings_have_kafkas_default() -> None:
    assert resolved({"fetch.min.bytes": 65536}) == DEFAULTS | {"fetch.min.bytes": 65536}


@pytest.mark.parametrize(
    ("properties", "says"),
    [
        ({}, ""),
        ({"session.timeout.ms": 30000, "heartbeat.interval.ms": 10000}, ""),
        ({"session.timeout.ms": 3000}, "heartbeat.interval.ms 3000 must be below session.timeout.ms 3000"),
        ({"group.protocol": "consumer"}, ""),
        (
            {"group.protocol": "consumer", "session.timeout.ms": 30000},
            "session.timeout.ms must not be set with group.protocol=consumer, since the brokers set it",
        ),
    ],
)
def test_settings_that_no_consumer_starts_with_are_reported(properties: Mapping[str, PropertyValue], says: str) -> None:
    assert conflict_in(properties) == says
