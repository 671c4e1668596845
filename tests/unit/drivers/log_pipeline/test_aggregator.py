"""An aggregator's command line follows from its settings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kafka_pareto.drivers.log_pipeline.filebeat_pair import AggregatorSettings, PlantedDelay, aggregator_argv
from kafka_pareto.drivers.log_pipeline.study import pipeline_setting
from kafka_pareto.drivers.log_pipeline.web_parts import PROGRAMS

pytestmark = pytest.mark.fast


def test_the_defaults_are_those_of_logstash_and_acknowledge_what_kafka_has() -> None:
    assert aggregator_argv(AggregatorSettings("127.0.0.1:9092", "logs"), Path("/jars"), "java") == [
        *("java", "-Xmx256m", "-cp", "/jars/*", "io.kafkapareto.aggregator.Aggregator"),
        *("--bootstrap-servers", "127.0.0.1:9092", "--topic", "logs", "--port", "0", "--workers", "2"),
        *("--batch-size", "125", "--batch-delay-ms", "50", "--linger-ms", "0", "--acks", "1"),
        *("--acknowledge", "kafka", "--drain-s", "10"),
    ]


@pytest.mark.parametrize(
    ("name", "constant"),
    [
        ("aggregator_batch_size", "MOST_EVENTS"),
        ("aggregator_batch_delay_ms", "MOST_DELAY_MS"),
        ("linger_ms", "MOST_DELAY_MS"),
        ("aggregator_workers", "MOST_WORKERS"),
    ],
)
def test_a_study_may_ask_for_what_the_aggregator_takes_and_no_more(name: str, constant: str) -> None:
    [options] = PROGRAMS.glob("aggregator/src/main/**/AggregatorOptions.java")
    found = re.search(rf"int {constant} = ([0-9_]+);", options.read_text())

    assert found
    assert pipeline_setting(name).most == int(found[1].replace("_", ""))


def test_properties_are_written_as_java_reads_them() -> None:
    settings = AggregatorSettings("b:1", "logs", producer={"compression.type": "lz4", "enable.idempotence": False})

    assert aggregator_argv(settings, Path("/jars"), "java")[-4:] == [
        *("--producer", "compression.type=lz4", "--producer", "enable.idempotence=false"),
    ]


def test_a_delay_is_planted_where_it_is_asked_for() -> None:
    settings = AggregatorSettings("b:1", "logs", planted_delay=PlantedDelay(300, "send"))

    assert aggregator_argv(settings, Path("/jars"), "java")[-4:] == [
        *("--planted-delay-ms", "300", "--planted-at", "send"),
    ]
