"""A broker's command line, and its JMX agent's files."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kafka_pareto.brokers.jmx import JMX_CONFIGURATION, prepare_jmx
from kafka_pareto.brokers.jvm import broker_argv, gc_log_option
from kafka_pareto.brokers.nodes import Node, nodes_in
from kafka_pareto.brokers.ports import free_ports
from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.java import java_environment
from kafka_pareto.settings import Settings

pytestmark = pytest.mark.fast

OPTIONS = Path(__file__).parents[3] / "include" / "kafka" / "broker.jvm"
(NODE,) = nodes_in(Path("/s"), [(21001, 22001)])


def test_command_line_without_further_options_is_what_a_supervisor_runs() -> None:
    assert broker_argv(NODE, Path("/jars"), "java", heap_mib=512) == [
        "java",
        "-Xms512m",
        "-Xmx512m",
        f"@{OPTIONS}",
        "-Djava.io.tmpdir=/s/kafka-1/tmp",
        "-XX:ErrorFile=/s/kafka-1/tmp/hs_err_%p.log",
        "-cp",
        "/jars/*",
        "kafka.Kafka",
        "/s/kafka-1/server.properties",
    ]


def test_further_options_are_the_jvms_and_not_the_brokers() -> None:
    argv = broker_argv(NODE, Path("/jars"), "java", options=[gc_log_option("gc-0001.log")])

    option = "-Xlog:gc*:file=gc-0001.log:time,uptime,level,tags:filecount=0"
    assert argv.index(option) < argv.index("kafka.Kafka")


def test_options_of_the_users_java_do_not_reach_the_brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xmx1g")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")

    environment = java_environment()

    assert "JAVA_TOOL_OPTIONS" not in environment
    assert environment["LC_ALL"] == "C"


def settings_with_agent(folder: Path) -> Settings:
    agent = folder / "agent" / "jmx_prometheus_javaagent.jar"
    agent.parent.mkdir()
    agent.touch()
    return Settings(kafka_jars=folder / "jars")


def jmx_node(folder: Path, port: int) -> Node:
    (node,) = nodes_in(folder / "brokers", [(port, port + 1)])
    node.folder.mkdir(parents=True, exist_ok=True)
    return node


def test_jmx_agent_listens_on_loopback_and_its_password_is_in_no_command_line(tmp_path: Path) -> None:
    node = jmx_node(tmp_path, 21001)

    agent = prepare_jmx(node, 23001, JMX_CONFIGURATION, settings_with_agent(tmp_path))

    file = node.folder / "jmx-exporter.yaml"
    assert agent.option == f"-javaagent:{tmp_path}/agent/jmx_prometheus_javaagent.jar=127.0.0.1:23001:{file}"
    assert agent.url == "http://127.0.0.1:23001/metrics"
    basic = yaml.safe_load(file.read_text())["httpServer"]["authentication"]["basic"]
    assert basic == {"username": agent.user, "password": agent.password}
    assert file.stat().st_mode & 0o777 == 0o600
    assert agent.password not in repr(agent)


def test_each_jmx_agent_has_its_own_password(tmp_path: Path) -> None:
    node, settings = jmx_node(tmp_path, 21001), settings_with_agent(tmp_path)
    first, second = (prepare_jmx(node, port, JMX_CONFIGURATION, settings) for port in (23001, 23002))

    assert first.password != second.password


def test_missing_jmx_agent_is_named_with_a_fix(tmp_path: Path) -> None:
    node = jmx_node(tmp_path, 21001)

    with pytest.raises(ClusterError, match=r"javaagent\.jar: file not found; download it .*, or start .* without JMX"):
        prepare_jmx(node, 23001, JMX_CONFIGURATION, Settings(kafka_jars=tmp_path / "jars"))


def test_jmx_agent_that_does_not_answer_is_named_without_its_password(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    agent = prepare_jmx(jmx_node(tmp_path, 21001), port, JMX_CONFIGURATION, settings_with_agent(tmp_path))

    with pytest.raises(ClusterError, match=rf"broker kafka-1: JMX agent at http://127.0.0.1:{port}") as silent:
        agent.read()

    assert agent.password not in str(silent.value)
