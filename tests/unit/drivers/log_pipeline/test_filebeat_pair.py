from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_pareto.drivers.log_pipeline.filebeat_pair import AggregatorSettings, aggregator_argv, filebeat_yml
from kafka_pareto.drivers.log_pipeline.study import pipeline_setting
from kafka_pareto.drivers.log_pipeline.web_parts import PROGRAMS
from tests.unit.drivers.log_pipeline.light_run import DEFAULTS

pytestmark = pytest.mark.fast


def written(**changes: Any) -> dict[str, Any]:
    text = filebeat_yml({**DEFAULTS, **changes}, Path("/run/1/access.log"), Path("/run/1/filebeat"), "127.0.0.1:5044")
    configuration = yaml.safe_load(text)
    assert isinstance(configuration, dict)
    return configuration


def test_each_setting_has_its_place_and_its_unit_and_nothing_listens() -> None:
    configuration = written()
    (log,) = configuration["filebeat.inputs"]

    assert (log["type"], log["scan_frequency"], log["close_inactive"]) == ("log", "10000ms", "300s")
    assert (log["backoff"], log["max_backoff"]) == ("1000ms", "10000ms")
    assert configuration["queue.mem"] == {"events": 4096, "flush": {"min_events": 2048, "timeout": "1000ms"}}
    output = {"hosts": ["127.0.0.1:5044"], "bulk_max_size": 2048, "pipelining": 2}
    assert configuration["output.stamped_logstash"] == output
    assert configuration["http.enabled"] is False
    assert written(flush_min_events=10_000)["queue.mem"]["events"] == 10_000


def test_entries_over_several_lines_begin_with_a_brace_and_single_lines_are_not_joined() -> None:
    (multi,), (single,) = written()["filebeat.inputs"], written(log_lines="single")["filebeat.inputs"]

    assert multi["multiline"] == {"type": "pattern", "pattern": r"^\{", "negate": True, "match": "after"}
    assert "multiline" not in single


def test_the_log_is_followed_under_its_rotated_names_too_and_all_state_lies_in_the_given_folder() -> None:
    (log,), path = written()["filebeat.inputs"], written()["path"]

    assert log["paths"] == ["/run/1/access.log", "/run/1/access.log.[0-9]*"]
    assert log["exclude_files"] == [r"\.gz$"]  # what logrotate has compressed was shipped before
    assert {Path(folder).is_relative_to("/run/1/filebeat") for folder in path.values()} == {True}
    assert set(path) == {"home", "data", "logs"}


@pytest.mark.parametrize("planted", [(0, "receive"), (300, "send")])
def test_the_aggregators_defaults_are_those_of_logstash_and_acknowledge_after_kafka(
    planted: tuple[int, str],
) -> None:
    settings = AggregatorSettings("127.0.0.1:9092", "logs", planted_delay_ms=planted[0], planted_at=planted[1])

    assert aggregator_argv(settings, Path("/jars"), "java") == [
        *("java", "-Xmx256m", "-cp", "/jars/*", "io.kafkapareto.aggregator.Aggregator"),
        *("--bootstrap-servers", "127.0.0.1:9092", "--topic", "logs", "--port", "0", "--workers", "2"),
        *("--batch-size", "125", "--batch-delay-ms", "50", "--linger-ms", "0", "--acks", "1"),
        *("--acknowledge", "kafka", "--planted-delay-ms", str(planted[0]), "--planted-at", planted[1]),
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
def test_a_study_may_set_only_options_of_the_aggregator(name: str, constant: str) -> None:
    [options] = PROGRAMS.glob("aggregator/src/main/**/AggregatorOptions.java")
    found = re.search(rf"int {constant} = ([0-9_]+);", options.read_text())

    assert found
    assert pipeline_setting(name).most == int(found[1].replace("_", ""))
