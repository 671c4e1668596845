"""Writes Filebeat's configuration by the names that Filebeat knows."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_pareto.drivers.log_pipeline.filebeat_pair import FilebeatSettings, filebeat_yml

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
