"""The settings of a comparison: the values of one setting, as files and command lines give them."""

from __future__ import annotations

import pytest

from kafka_pareto.drivers.producer.compare import CompareProducer
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.study.factors import CategoricalFactor, FactorValue, NumericFactor

pytestmark = pytest.mark.fast

SETTINGS = CompareProducer.fixed_settings


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("linger.ms", 5, 5),
        ("linger.ms", "20", 20),
        ("linger.ms", "+20", 20),
        ("compression.gzip.level", "-1", -1),
        ("log.flush.interval.messages", 9223372036854775807, 9223372036854775807),
        ("acks", 1, "1"),
        ("acks", "all", "all"),
        ("enable.idempotence", True, "true"),
        ("enable.idempotence", "false", "false"),
        ("payload", "text", "text"),
    ],
)
def test_a_value_is_an_integer_or_lower_case_text(name: str, given: PropertyValue, value: FactorValue) -> None:
    found = SETTINGS[name].value(given)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("name", "given", "rule"),
    [
        ("linger.ms", "soon", "linger.ms: 'soon': must be a whole number"),
        ("linger.ms", "", "linger.ms: '': must be a whole number"),
        ("linger.ms", 0.5, "linger.ms: 0.5: must be a whole number"),
        ("linger.ms", True, "linger.ms: True: must be a whole number"),
        ("linger.ms", "1" * 20, "must be a whole number"),
        ("acks", "2", "acks: '2': must be one of 0, 1, all"),
        ("acks", True, "acks: True: must be one of 0, 1, all"),
        ("record.size", 0, "record.size: 0: must be at least 1"),
        ("record.size", 10_000_000, "record.size: 10000000: must be at most 1000000"),
        ("num.io.threads", 0, "num.io.threads: 0: must be at least 1"),
    ],
)
def test_a_value_of_another_type_or_range_is_refused_with_setting_value_and_rule(
    name: str, given: PropertyValue, rule: str
) -> None:
    with pytest.raises(ValueError, match=rule):
        SETTINGS[name].value(given)


def test_every_default_is_a_value_of_its_setting_and_numbers_alone_make_an_ordered_factor() -> None:
    for setting in SETTINGS.values():
        assert str(setting.value(setting.default)) == str(setting.default).lower()
    assert SETTINGS["linger.ms"].factor([20, 0, 5]) == NumericFactor(type="integer", levels=[0, 5, 20])
    assert SETTINGS["acks"].factor(["all", "1"]) == CategoricalFactor(type="categorical", levels=["all", "1"])
