"""Settings as other clients' files: what they take, and under which names."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from confluent_kafka import Producer

from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.producer_config import DEFAULTS, PropertyValue
from kafka_pareto.kafka.properties_file import parse_properties
from kafka_pareto.rollout.client_files import client_files, settings_file
from kafka_pareto.study.log_pipeline_study import PIPELINE_SETTINGS

pytestmark = pytest.mark.fast

TURNED_OFF = {"batch.size": 0, "connections.max.idle.ms": -1, "retry.backoff.ms": 0, "send.buffer.bytes": -1}


@pytest.mark.parametrize("properties", [DEFAULTS, {**DEFAULTS, **TURNED_OFF}], ids=["defaults", "turned_off"])
def test_librdkafka_takes_every_property_that_a_study_may_vary(properties: dict[str, PropertyValue]) -> None:
    text = settings_file(properties, "librdkafka.properties", [])
    Producer(parse_properties(text))  # raises at a name or a value that it does not know


PIPELINE = {each.name: each.value(each.default) for each in PIPELINE_SETTINGS}


def of_pipeline(name: str, **changes: PropertyValue) -> str:
    return settings_file({**PIPELINE, **changes}, name, ["why"], "log_pipeline")


def read_yaml(name: str, **changes: PropertyValue) -> Any:
    return yaml.safe_load(of_pipeline(name, **changes))


def test_filebeat_gets_what_was_tuned_and_sends_to_logstash() -> None:
    found = read_yaml("filebeat.yml", backoff_ms=40, flush_timeout_ms=0, bulk_max_size=50)

    assert found["filebeat.inputs"][0]["backoff"] == "40ms"
    assert "multiline" in found["filebeat.inputs"][0]
    assert found["filebeat.inputs"][0]["exclude_files"] == [r"\.gz$"]
    assert found["queue.mem"]["flush"] == {"min_events": 2048, "timeout": "0ms"}
    assert found["output.logstash"] == {"hosts": ["localhost:5044"], "bulk_max_size": 50, "pipelining": 2}
    assert "multiline" not in read_yaml("filebeat.yml", log_lines="single")["filebeat.inputs"][0]


def test_logstash_keeps_what_it_has_acknowledged_where_that_was_measured() -> None:
    found = read_yaml("logstash.yml", aggregator_batch_size=7, aggregator_batch_delay_ms=3)

    assert found["pipeline.batch.size"] == 7
    assert found["pipeline.batch.delay"] == 3
    assert found["queue.type"] == "persisted"
    assert read_yaml("logstash.yml", aggregator_acknowledges="received")["queue.type"] == "memory"


def test_producer_and_spark_get_theirs() -> None:
    producer = parse_properties(of_pipeline("producer.properties", linger_ms=5, acks="all"))
    spark = parse_properties(of_pipeline("spark.properties", trigger_ms=250))

    assert producer == {"acks": "all", "linger.ms": "5"}
    assert spark == {"spark.logs.trigger": "250 milliseconds"}


@pytest.mark.parametrize("name", client_files("log_pipeline"))
def test_each_file_of_a_pipeline_begins_with_why(name: str) -> None:
    assert of_pipeline(name).startswith("# why\n# ")


def test_a_file_that_clients_of_the_driver_do_not_read_is_refused() -> None:
    with pytest.raises(
        BadInputError, match=r"spark.yml: is no file of the driver log_pipeline; there are filebeat.yml, logstash.yml"
    ):
        of_pipeline("spark.yml")
    assert client_files("calls") == ("settings.properties",)


def test_a_line_of_the_header_stays_one_comment() -> None:
    text = settings_file({"acks": "all"}, "producer.properties", ["said\nacks=0"])
    assert parse_properties(text) == {"acks": "all"}
