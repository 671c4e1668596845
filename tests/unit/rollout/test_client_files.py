from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Producer

from kafka_pareto.drivers.log_pipeline.study import PIPELINE_SETTINGS
from kafka_pareto.drivers.producer import client_files as producer_files
from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.known_properties import INT_MAX, PropertyValue
from kafka_pareto.kafka.properties_file import parse_properties
from kafka_pareto.rollout.client_files import client_files, settings_file
from kafka_pareto.settings import load_settings
from tests.exported_settings import exported_settings, read_by_java

pytestmark = [pytest.mark.fast, pytest.mark.slow]

JAVA_READS = Path(__file__).parents[2] / "fixtures" / "LoadedProperties.java"


def librdkafka_lines(properties: dict[str, PropertyValue]) -> list[str]:
    return settings_file(properties, "librdkafka.properties", [], "producer").splitlines()


def test_librdkafka_takes_every_value_of_every_property() -> None:
    for properties in exported_settings():
        settings = parse_properties("\n".join(librdkafka_lines(properties)))
        Producer({**settings, "log_level": 0})  # raises at a name or a value that it does not know
        assert max(int(value) for value in settings.values() if value.lstrip("-").isdigit()) <= INT_MAX  # else it wraps


def test_settings_unsupported_by_librdkafka_are_comments_with_the_reason() -> None:
    for properties in exported_settings():
        lines = librdkafka_lines(properties)
        for name in properties:
            said = [
                line
                for line in lines
                if re.match(rf"(# {name}=\S+ has no counterpart: .|{in_librdkafka(name)}=)", line)
            ]
            assert said, (name, properties[name])


def in_librdkafka(name: str) -> str:
    if name.endswith(".level"):
        return "compression.level"
    return producer_files.LIBRDKAFKA_NAMES.get(name, name)


@pytest.mark.parametrize(
    ("properties", "wanted"),
    [
        ({"compression.type": "zstd", "compression.zstd.level": 7}, "compression.level=7"),
        ({"compression.type": "zstd", "compression.zstd.level": -5}, "# compression.zstd.level=-5 has no counter"),
        # There it is the default, which is 3.
        ({"compression.type": "zstd", "compression.zstd.level": -1}, "# compression.zstd.level=-1 has no counter"),
        ({"compression.type": "zstd", "compression.zstd.level": 13}, "# compression.zstd.level=13 has no counter"),
        ({"compression.type": "gzip", "compression.gzip.level": -1}, "compression.level=-1"),
        # Java compresses with another compressor at its default than at 8 or 10.
        ({"compression.type": "lz4", "compression.lz4.level": 9}, "compression.level=0"),
        ({"compression.type": "lz4", "compression.lz4.level": 10}, "compression.level=10"),
        ({"compression.type": "lz4", "compression.lz4.level": 17}, "compression.level=12"),
        ({"compression.type": "lz4", "compression.lz4.level": 2}, "# compression.lz4.level=2 has no counterpart: l"),
        ({"compression.type": "gzip", "compression.lz4.level": 9}, "# compression.lz4.level=9 has no counterpart: o"),
        # Its default of message.max.bytes would bound the batch at 1,000,000 B.
        ({"batch.size": 1_047_003}, "message.max.bytes=1048576"),
        ({"batch.size": 2_000_000, "max.request.size": 65_536}, "message.max.bytes=2000000"),
        ({"batch.size": 2_000_000}, "# batch.num.messages, 10,000 by default, limits batches of records below 200 B"),
        ({"batch.size": 2_000_000_000}, "# batch.size=2000000000 has no counterpart: it accepts 1 to 1,000,000,000."),
        ({"batch.size": 0}, "batch.size=1"),
        ({"connections.max.idle.ms": -1}, "connections.max.idle.ms=0"),
        # There it would mean never.
        ({"connections.max.idle.ms": 0}, "# connections.max.idle.ms=0 has no counterpart: "),
        ({"buffer.memory": 67_108_864}, "queue.buffering.max.kbytes=65536"),
        ({"buffer.memory": 67_108_864}, "queue.buffering.max.messages=0"),
        ({"linger.ms": 900_001}, "# linger.ms=900001 has no counterpart: it accepts 0 to 900,000."),
        # It refuses a linger that is not below its delivery timeout, 300,000 ms by default.
        ({"linger.ms": 300_000}, "delivery.timeout.ms=330000"),
        # Java's defaults, where those of librdkafka are others.
        ({}, "enable.idempotence=true"),
        ({}, "batch.size=16384"),
        ({"acks": "1"}, "max.in.flight.requests.per.connection=5"),
    ],
)  # fmt: skip
def test_librdkafka_gets_settings_that_act_as_in_java(properties: dict[str, PropertyValue], wanted: str) -> None:
    assert any(line.startswith(wanted) for line in librdkafka_lines(properties)), librdkafka_lines(properties)


def test_java_takes_every_value_of_every_property(tmp_path: Path) -> None:
    found = [settings_file(each, "producer.properties", [], "producer") for each in exported_settings()]
    found += [of_pipeline("producer.properties", acks=acks, linger_ms=600_000) for acks in ("0", "1", "all")]
    for number, text in enumerate(found):
        (tmp_path / f"{number}.properties").write_text(text)
    assert read_by_java(JAVA_READS, load_settings().kafka_jars, tmp_path) == [str(len(found))]


PIPELINE = {each.name: each.value(each.default) for each in PIPELINE_SETTINGS}


def of_pipeline(name: str, **changes: PropertyValue) -> str:
    return settings_file({**PIPELINE, **changes}, name, ["why"], "log_pipeline")


def read_yaml(name: str, **changes: PropertyValue) -> Any:
    return yaml.safe_load(of_pipeline(name, **changes))


def test_filebeat_gets_the_tuned_settings_and_sends_to_logstash() -> None:
    found = read_yaml("filebeat.yml", backoff_ms=40, flush_timeout_ms=0, bulk_max_size=50)

    assert found["filebeat.inputs"][0]["backoff"] == "40ms"
    assert "multiline" in found["filebeat.inputs"][0]
    assert found["filebeat.inputs"][0]["exclude_files"] == [r"\.gz$"]
    assert found["queue.mem"]["flush"] == {"min_events": 2048, "timeout": "0ms"}
    assert found["output.logstash"] == {"hosts": ["localhost:5044"], "bulk_max_size": 50, "pipelining": 2}
    assert "multiline" not in read_yaml("filebeat.yml", log_lines="single")["filebeat.inputs"][0]


def test_logstash_keeps_acknowledged_events_if_that_was_measured() -> None:
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
        BadInputError, match=r"spark.yml: driver log_pipeline has no such file; it has filebeat.yml, logstash.yml"
    ):
        of_pipeline("spark.yml")
    assert client_files("services") == ("settings.properties",)


def test_a_line_of_the_header_stays_one_comment() -> None:
    text = settings_file({"acks": "all"}, "producer.properties", ["said\nacks=0"], "producer")
    assert parse_properties(text) == {"acks": "all"}
