from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_pareto.drivers.log_pipeline.collector_pair import CollectorPair, CollectorSettings, agent_yaml, gateway_yaml
from kafka_pareto.errors import LoadStartError
from kafka_pareto.study.factors import FactorValue

pytestmark = pytest.mark.fast

VALUES: dict[str, FactorValue] = {
    "log_lines": "multi",
    "otel_poll_interval_ms": 200,
    "otel_batch_size": 8192,
    "otel_batch_timeout_ms": 300,
    "acks": "all",
}
SETTINGS = CollectorSettings("127.0.0.1:9092", "logs", VALUES)
LOG = Path("/logs/access.log")


def agent(settings: CollectorSettings = SETTINGS) -> Any:
    return yaml.safe_load(agent_yaml(settings, LOG, Path("/state"), 4317))


def gateway(settings: CollectorSettings = SETTINGS) -> Any:
    return yaml.safe_load(gateway_yaml(settings, 4317))


def written(program: Path, script: str) -> Path:
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return program


def test_an_agent_follows_the_log_and_its_rotated_files_and_keeps_its_position() -> None:
    (followed,), (sent,) = agent()["receivers"].values(), agent()["exporters"].values()

    assert followed["include"] == ["/logs/access.log", "/logs/access.log.[0-9]*"]
    assert followed["poll_interval"] == "200ms"
    assert followed["multiline"] == {"line_start_pattern": r"^\{"}
    assert agent()["extensions"][followed["storage"]] == {"directory": "/state"}
    assert sent["endpoint"] == "127.0.0.1:4317"
    # It holds an entry until the gateway has it.
    assert followed["retry_on_failure"] == {"enabled": True, "max_elapsed_time": "0s"}
    assert sent["sending_queue"] == {"wait_for_result": True}
    assert sent["retry_on_failure"] == {"max_elapsed_time": "0s"}
    (followed,) = agent(replace(SETTINGS, values={**VALUES, "log_lines": "single"}))["receivers"].values()
    assert "multiline" not in followed


def test_a_gateway_stamps_before_and_after_its_batch() -> None:
    named = [gateway()["processors"][each] for each in gateway()["service"]["pipelines"]["logs"]["processors"]]

    assert named == [{"name": "t3"}, {"send_batch_size": 8192, "timeout": "300ms"}, {"name": "t4"}]
    (sent,) = gateway()["exporters"].values()
    assert sent["producer"] == {"required_acks": -1}


def test_neither_opens_a_port_for_others() -> None:
    assert agent()["service"]["telemetry"]["metrics"] == gateway()["service"]["telemetry"]["metrics"]
    assert agent()["service"]["telemetry"]["metrics"] == {"level": "none"}
    (received,) = gateway()["receivers"].values()
    assert received == {"protocols": {"grpc": {"endpoint": "127.0.0.1:4317"}}}


@pytest.mark.parametrize("at", ["t2", "t3", "t4"])
def test_a_delay_is_planted_at_one_stamp_alone(at: str) -> None:
    planted = replace(SETTINGS, planted_delay_ms=200, planted_at=at)
    processors = [*agent(planted)["processors"].values(), *gateway(planted)["processors"].values()]

    assert [each["name"] for each in processors if "planted_delay_ms" in each] == [at]


def test_a_restarted_gateway_listens_on_the_same_port_and_only_the_agent_has_the_gate(tmp_path: Path) -> None:
    program = written(
        tmp_path / "collector", f'echo "$*" >> {tmp_path}/said\necho \'{{"ready": true}}\'\nexec sleep 60'
    )
    pair = CollectorPair(tmp_path, program, LOG, SETTINGS)
    configurations = []
    for start in (pair.start_aggregator, pair.start_aggregator, pair.start_shipper):
        start().close()
        configurations.append((tmp_path / "gateway.yaml").read_text())

    assert (pair.batching_ms, pair.poll_pause_ms) == (300, 200)
    assert configurations[0] == configurations[1]
    started, again, followed = (tmp_path / "said").read_text().splitlines()
    assert started == again == f"--config file:{tmp_path}/gateway.yaml"
    assert followed == f"--config file:{tmp_path}/agent.yaml --feature-gates=stanza.synchronousLogEmitter"


def test_a_collector_that_does_not_become_ready_is_reported_with_its_last_output(tmp_path: Path) -> None:
    program = written(tmp_path / "collector", "echo no such component >&2\nexit 1")

    with pytest.raises(LoadStartError, match="the gateway has ended with exit code 1: no such component"):
        CollectorPair(tmp_path, program, LOG, SETTINGS).start_aggregator()
