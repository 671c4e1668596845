"""Settings as other clients' files: what they take, and under which names."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from kafka_pareto.kafka.producer_config import DEFAULTS, PropertyValue
from kafka_pareto.kafka.properties_file import parse_properties
from kafka_pareto.rollout.client_files import settings_file

pytestmark = pytest.mark.fast

TURNED_OFF = {"batch.size": 0, "connections.max.idle.ms": -1, "retry.backoff.ms": 0, "send.buffer.bytes": -1}


@pytest.mark.parametrize("properties", [DEFAULTS, {**DEFAULTS, **TURNED_OFF}], ids=["defaults", "turned_off"])
def test_librdkafka_takes_every_property_that_a_study_may_vary(properties: dict[str, PropertyValue]) -> None:
    text = settings_file(properties, "librdkafka.properties", [])
    Producer(parse_properties(text))  # raises at a name or a value that it does not know


def test_a_line_of_the_header_stays_one_comment() -> None:
    text = settings_file({"acks": "all"}, "producer.properties", ["said\nacks=0"])
    assert parse_properties(text) == {"acks": "all"}
