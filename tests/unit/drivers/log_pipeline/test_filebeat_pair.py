from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_pareto.drivers.log_pipeline.filebeat_pair import (
    AggregatorSettings,
    FilebeatSettings,
    PlantedDelay,
    aggregator_argv,
    filebeat_yml,
)
from kafka_pareto.drivers.log_pipeline.study import pipeline_setting
from kafka_pareto.drivers.log_pipeline.web_parts import PROGRAMS

pytestmark = pytest.mark.fast

DEFAULTS = FilebeatSettings(
    log_lines="multi",
    scan_frequency_ms=10_000,
    close_inactive_s=300,
    backoff_ms=1000,
    max_backoff_ms=10_000,
    flush_min_events=2048,
    flush_timeout_ms=1000,
    bulk_max_size=2048,
    pipelining=2,
)


def written(**changes: Any) -> dict[str, Any]:
    settings = dataclasses.replace(DEFAULTS, **changes)
    text = filebeat_yml(settings, Path("/run/1/access.log"), Path("/run/1/filebeat"), "127.0.0.1:5044")
    configuration = yaml.safe_load(text)
    assert isinstance(configuration, dict)
    return configuration


def test_each_setting_has_its_place_and_its_unit() -> None:
    configuration = written()
    (log,) = configuration["filebeat.inputs"]

    assert (log["type"], log["scan_frequency"], log["close_inactive"]) == ("log", "10000ms", "300s")
    assert (log["backoff"], log["max_backoff"]) == ("1000ms", "10000ms")
    assert configuration["queue.mem"] == {"events": 4096, "flush": {"min_events": 2048, "timeout": "1000ms"}}
    assert configuration["output.stamped_logstash"] == {
        "hosts": ["127.0.0.1:5044"],
        "bulk_max_size": 2048,
        "pipelining": 2,
    }


def test_entries_over_several_lines_begin_with_a_brace() -> None:
    (log,) = written()["filebeat.inputs"]

    assert log["multiline"] == {"type": "pattern", "pattern": r"^\{", "negate": True, "match": "after"}


def test_single_lines_are_not_joined() -> None:
    (log,) = written(log_lines="single")["filebeat.inputs"]

    assert "multiline" not in log


def test_the_log_is_followed_under_its_rotated_names_too() -> None:
    (log,) = written()["filebeat.inputs"]

    assert log["paths"] == ["/run/1/access.log", "/run/1/access.log.[0-9]*"]
    assert log["exclude_files"] == [r"\.gz$"]  # what logrotate has compressed was shipped before


def test_all_state_lies_in_the_given_folder() -> None:
    path = written()["path"]

    assert {Path(folder).is_relative_to("/run/1/filebeat") for folder in path.values()} == {True}
    assert set(path) == {"home", "data", "logs"}


def test_the_queue_holds_as_many_events_as_it_is_to_collect() -> None:
    assert written(flush_min_events=10_000)["queue.mem"]["events"] == 10_000


def test_nothing_listens() -> None:
    assert written()["http.enabled"] is False


def test_the_defaults_are_those_of_logstash_and_acknowledge_what_kafka_has() -> None:
    assert aggregator_argv(AggregatorSettings("127.0.0.1:9092", "logs"), Path("/jars"), "java") == [
        *("java", "-Xmx256m", "-cp", "/jars/*", "io.kafkapareto.aggregator.Aggregator"),
        *("--bootstrap-servers", "127.0.0.1:9092", "--topic", "logs", "--port", "0", "--workers", "2"),
        *("--batch-size", "125", "--batch-delay-ms", "50", "--linger-ms", "0", "--acks", "1"),
        *("--acknowledge", "kafka"),
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


def test_a_delay_is_planted_where_it_is_asked_for() -> None:
    settings = AggregatorSettings("b:1", "logs", planted_delay=PlantedDelay(300, "send"))

    assert aggregator_argv(settings, Path("/jars"), "java")[-4:] == [
        *("--planted-delay-ms", "300", "--planted-at", "send"),
    ]
