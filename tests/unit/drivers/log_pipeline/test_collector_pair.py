from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from kafka_pareto.drivers.log_pipeline.collector_pair import CollectorPair, CollectorSettings, agent_yaml, gateway_yaml
from kafka_pareto.errors import LoadStartError

pytestmark = pytest.mark.fast

SETTINGS = CollectorSettings(
    "127.0.0.1:9092",
    "logs",
    log_lines="multi",
    poll_interval_ms=200,
    batch_size=8192,
    batch_timeout_ms=300,
    acks="all",
)
LOG = Path("/logs/access.log")
STATE = Path("/state")


def test_an_agent_follows_the_log_and_what_it_was_rotated_to_and_keeps_how_far_it_has_read() -> None:
    agent = yaml.safe_load(agent_yaml(SETTINGS, LOG, STATE, 4317))
    (followed,) = agent["receivers"].values()

    assert followed["include"] == ["/logs/access.log", "/logs/access.log.[0-9]*"]
    assert followed["poll_interval"] == "200ms"
    assert followed["multiline"] == {"line_start_pattern": r"^\{"}
    assert agent["extensions"][followed["storage"]] == {"directory": "/state"}
    (sent,) = agent["exporters"].values()
    assert sent["endpoint"] == "127.0.0.1:4317"


def test_an_agent_holds_an_entry_until_the_gateway_has_it() -> None:
    agent = yaml.safe_load(agent_yaml(SETTINGS, LOG, STATE, 4317))
    (followed,), (sent,) = agent["receivers"].values(), agent["exporters"].values()

    assert followed["retry_on_failure"] == {"enabled": True, "max_elapsed_time": "0s"}
    assert sent["sending_queue"] == {"wait_for_result": True}
    assert sent["retry_on_failure"] == {"max_elapsed_time": "0s"}


def test_an_entry_on_one_line_waits_for_no_next_one() -> None:
    agent = yaml.safe_load(agent_yaml(replace(SETTINGS, log_lines="single"), LOG, STATE, 4317))
    (followed,) = agent["receivers"].values()

    assert "multiline" not in followed


def test_a_gateway_stamps_before_and_after_its_batch() -> None:
    gateway = yaml.safe_load(gateway_yaml(SETTINGS, 4317))
    named = [gateway["processors"][each] for each in gateway["service"]["pipelines"]["logs"]["processors"]]

    assert named == [{"name": "t3"}, {"send_batch_size": 8192, "timeout": "300ms"}, {"name": "t4"}]
    (sent,) = gateway["exporters"].values()
    assert sent["producer"] == {"required_acks": -1}


def test_neither_opens_a_port_for_others() -> None:
    for text in (agent_yaml(SETTINGS, LOG, STATE, 4317), gateway_yaml(SETTINGS, 4317)):
        assert yaml.safe_load(text)["service"]["telemetry"]["metrics"] == {"level": "none"}
    (received,) = yaml.safe_load(gateway_yaml(SETTINGS, 4317))["receivers"].values()
    assert received == {"protocols": {"grpc": {"endpoint": "127.0.0.1:4317"}}}


@pytest.mark.parametrize("at", ["t2", "t3", "t4"])
def test_a_delay_is_planted_at_one_stamp_alone(at: str) -> None:
    planted = replace(SETTINGS, planted_delay_ms=200, planted_at=at)
    texts = (agent_yaml(planted, LOG, STATE, 4317), gateway_yaml(planted, 4317))
    processors = [each for text in texts for each in yaml.safe_load(text)["processors"].values()]

    assert [each["name"] for each in processors if "planted_delay_ms" in each] == [at]


def test_how_long_events_are_held_follows_from_the_settings(tmp_path: Path) -> None:
    collectors = CollectorPair(tmp_path, tmp_path / "collector", LOG, SETTINGS)

    assert (collectors.holds_ms, collectors.sleeps_ms) == (300, 200)


def test_a_gateway_that_is_started_anew_listens_where_it_did_and_the_agent_alone_has_the_gate(tmp_path: Path) -> None:
    program = tmp_path / "collector"
    program.write_text(f"""#!/bin/sh
echo "$*" >> {tmp_path}/said
echo '{{"ready": true}}'
exec sleep 60
""")
    program.chmod(0o755)
    pair = CollectorPair(tmp_path, program, LOG, SETTINGS)
    configurations = []
    for start in (pair.start_aggregator, pair.start_aggregator, pair.start_shipper):
        start().close()
        configurations.append((tmp_path / "gateway.yaml").read_text())

    assert configurations[0] == configurations[1]
    gateway, again, agent = (tmp_path / "said").read_text().splitlines()
    assert gateway == again == f"--config file:{tmp_path}/gateway.yaml"
    assert agent == f"--config file:{tmp_path}/agent.yaml --feature-gates=stanza.synchronousLogEmitter"


def test_a_collector_that_does_not_become_ready_is_told_with_its_last_words(tmp_path: Path) -> None:
    program = tmp_path / "collector"
    program.write_text("#!/bin/sh\necho no such component >&2\nexit 1\n")
    program.chmod(0o755)

    with pytest.raises(LoadStartError, match="the gateway has ended with exit code 1: no such component"):
        CollectorPair(tmp_path, program, LOG, SETTINGS).start_aggregator()
