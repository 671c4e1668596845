"""The study's own brokers, really started: they answer, have their settings, and are gone at the end."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import psutil
import pytest
from tenacity import retry, retry_if_not_result, stop_after_delay, wait_fixed

from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.errors import BadInputError, ClusterError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.kafka.java import java_environment
from kafka_pareto.settings import load_settings
from tests.processes import command_lines
from tests.system.broker_fixtures import RunningBrokers

pytestmark = pytest.mark.brokers

INCLUDE = Path(__file__).parents[2] / "include"
HOLD = """
import sys
from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.settings import load_settings
with Brokers(2, load_settings()) as brokers:
    print(*brokers.pids.values(), flush=True)
    sys.stdin.read()
"""


def wait_until(condition: Callable[[], bool], deadline_s: float) -> None:
    retry(retry=retry_if_not_result(bool), stop=stop_after_delay(deadline_s), wait=wait_fixed(0.1))(condition)()


def is_gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def registered(brokers: Brokers) -> set[int]:
    return {broker.id for broker in brokers.wait_until_ready().brokers}


def broker_setting(brokers: Brokers, name: str) -> str:
    """Returns what Kafka's own tool says of a setting of broker 1."""
    tool = ["-cp", f"{brokers.settings.kafka_jars}/*", "kafka.admin.ConfigCommand"]
    what = ["--bootstrap-server", brokers.bootstrap_servers, "--describe", "--all", "--broker", "1"]
    run = subprocess.run(
        [brokers.settings.java, "-Xmx128m", *tool, *what],
        env=java_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    (line,) = [line.strip() for line in run.stdout.splitlines() if line.strip().startswith(f"{name}=")]
    return line.split()[0].partition("=")[2]


@pytest.mark.parametrize("cluster", ["single_broker", pytest.param("three_brokers", marks=pytest.mark.long)])
def test_cluster_answers_as_soon_as_the_context_is_entered(cluster: str, request: pytest.FixtureRequest) -> None:
    brokers: RunningBrokers = request.getfixturevalue(cluster)

    with Cluster(brokers.bootstrap_servers, None, brokers.settings) as asked:
        described = asked.describe()

    assert {f"{broker.host}:{broker.port}" for broker in described.brokers} == {*brokers.bootstrap_servers.split(",")}
    assert set(brokers.pids) == set(brokers.nodes)


def test_servers_of_a_broker_listen_on_loopback_only(single_broker: RunningBrokers) -> None:
    process = psutil.Process(single_broker.pids["kafka-1"])
    listening = [each.laddr for each in process.net_connections("tcp") if each.status == psutil.CONN_LISTEN]

    assert len(listening) == 3  # clients, controllers, JMX
    assert {address.ip.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}


@pytest.mark.long
def test_cpu_of_a_broker_can_be_counted_while_it_works(single_broker: RunningBrokers) -> None:
    process = psutil.Process(single_broker.pids["kafka-1"])
    with Cluster(single_broker.bootstrap_servers, None, single_broker.settings) as cluster:
        cluster.create_topic("counted", 1, 1)
        before = process.cpu_times()
        single_broker.send("counted", 20_000, 1024)
        after = process.cpu_times()

    assert process.name() == "java"
    assert after.user + after.system > before.user + before.system


def test_jmx_agent_refuses_who_does_not_know_the_password(single_broker: RunningBrokers) -> None:
    agent = single_broker.jmx["kafka-1"]
    answers = [
        httpx.get(agent.url, auth=auth, trust_env=False).status_code
        for auth in (None, (agent.user, "guessed"), (agent.user, agent.password))
    ]

    assert answers == [401, 401, 200]


def test_jmx_agent_counts_the_messages_that_the_broker_takes(single_broker: RunningBrokers) -> None:
    agent = single_broker.jmx["kafka-1"]
    with Cluster(single_broker.bootstrap_servers, None, single_broker.settings) as cluster:
        cluster.create_topic("watched", 1, 1)
        single_broker.send("watched", 1000, 100)

    read = agent.read()

    assert read['kafka_topic_messagesin_total{topic="watched"}'] == 1000
    assert read["process_cpu_seconds_total"] > 0


def test_garbage_collections_are_logged_completely_for_each_start(single_broker: RunningBrokers) -> None:
    log = single_broker.gc_logs("kafka-1")[-1]

    text = log.read_text()

    assert "Using G1" in text
    assert "Pause Young" in text


@pytest.mark.long
def test_one_broker_of_three_can_be_stopped_killed_and_restarted_from_any_thread(
    three_brokers: RunningBrokers,
) -> None:
    logs = len(three_brokers.gc_logs("kafka-2"))
    old = three_brokers.pids["kafka-2"]

    three_brokers.stop("kafka-2")
    assert set(three_brokers.pids) == {"kafka-1", "kafka-3"}
    assert {1, 3} <= registered(three_brokers)
    with pytest.raises(ClusterError, match="broker kafka-2 is not running"):
        three_brokers.kill("kafka-2")
    thread = threading.Thread(target=three_brokers.restart, args=("kafka-2",))
    thread.start()
    thread.join()

    assert registered(three_brokers) == {1, 2, 3}
    assert three_brokers.pids["kafka-2"] != old
    assert len(three_brokers.gc_logs("kafka-2")) == logs + 1
    three_brokers.kill("kafka-2")
    assert not psutil.pid_exists(old)
    three_brokers.restart("kafka-2")
    assert registered(three_brokers) == {1, 2, 3}


@pytest.mark.long
def test_given_property_and_heap_are_the_brokers_and_can_be_changed_without_losing_a_record() -> None:
    with RunningBrokers(1, load_settings(), properties={"num.io.threads": 3}, heap_mib=320) as brokers:
        with Cluster(brokers.bootstrap_servers, None, brokers.settings) as cluster:
            cluster.create_topic("kept", 1, 1)
            brokers.send("kept", 100, 100)
        assert broker_setting(brokers, "num.io.threads") == "3"
        assert "-Xmx320m" in psutil.Process(brokers.pids["kafka-1"]).cmdline()

        brokers.reconfigure({"num.io.threads": 5, "num.network.threads": 2}, heap_mib=352)

        assert broker_setting(brokers, "num.io.threads") == "5"
        assert broker_setting(brokers, "num.network.threads") == "2"
        assert "-Xmx352m" in psutil.Process(brokers.pids["kafka-1"]).cmdline()
        with pytest.raises(BadInputError, match=r"log\.dirs"):
            brokers.reconfigure({"log.dirs": "/elsewhere"})
        with Cluster(brokers.bootstrap_servers, None, brokers.settings) as cluster:
            assert cluster.end_offset("kept") == 100


@pytest.mark.long
def test_fourth_node_is_a_broker_without_a_vote_and_nothing_is_left_of_any_after_the_context() -> None:
    with Brokers(4, load_settings(), heap_mib=256, jmx_configuration=None, gc_log=False) as brokers:
        processes = [psutil.Process(pid) for pid in brokers.pids.values()]
        folder = brokers.nodes["kafka-4"].folder.parent
        assert registered(brokers) == {1, 2, 3, 4}
        assert not brokers.jmx
        assert not brokers.gc_logs("kafka-4")
        with Cluster(brokers.bootstrap_servers, None, brokers.settings) as cluster:
            cluster.create_topic("wide", 4, 4)
            assert cluster.topic_health("wide").is_healthy
        assert folder.exists()

    assert len(processes) == 4
    assert command_lines(processes) == []
    assert not brokers.pids
    assert not folder.exists()


@pytest.mark.long
def test_given_folder_is_kept_and_its_topics_are_found_again(tmp_path: Path) -> None:
    for is_first in (True, False):
        with (
            RunningBrokers(1, load_settings(), folder=tmp_path / "data") as brokers,
            Cluster(brokers.bootstrap_servers, None, brokers.settings) as cluster,
        ):
            if is_first:
                cluster.create_topic("kept", 1, 1)
                brokers.send("kept", 100, 100)
            assert cluster.end_offset("kept") == 100


def test_brokers_of_a_killed_process_are_gone_with_it(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD],
        env={**os.environ, "PYTHONPATH": str(INCLUDE), "TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as parent:
        assert parent.stdout is not None
        brokers = [psutil.Process(int(pid)) for pid in parent.stdout.readline().split()]
        assert len(brokers) == 2
        assert not any(is_gone(broker) for broker in brokers)
        parent.kill()

    wait_until(lambda: all(is_gone(broker) for broker in brokers), deadline_s=10)


def test_broker_that_does_not_start_is_named_immediately_with_the_end_of_its_log(tmp_path: Path) -> None:
    began = time.monotonic()
    missing = {"authorizer.class.name": "no.such.Authorizer"}

    with (
        pytest.raises(ClusterError, match=r"broker kafka-1 ended with exit code 1; the last lines of ") as failed,
        Brokers(1, load_settings(), folder=tmp_path, properties=missing),
    ):
        pass

    assert "no.such.Authorizer" in str(failed.value)
    assert str(tmp_path / "kafka-1" / "server.log") in str(failed.value)
    assert "\tat " not in str(failed.value)
    assert time.monotonic() - began < 60


@pytest.mark.long
def test_broker_that_ends_by_itself_is_named(tmp_path: Path) -> None:
    with Brokers(1, load_settings(), folder=tmp_path) as brokers:
        psutil.Process(brokers.pids["kafka-1"]).kill()
        wait_until(lambda: not brokers.pids, deadline_s=10)

        with pytest.raises(ClusterError, match="broker kafka-1 ended with exit code -9"):
            brokers.wait_until_ready()

        brokers.restart("kafka-1")
        assert registered(brokers) == {1}


def test_broker_that_is_not_ready_in_time_is_named_and_nothing_runs_on(tmp_path: Path) -> None:
    with (
        pytest.raises(ClusterError, match=r"broker kafka-1 is not ready after 0\.01 s: its port is closed"),
        Brokers(1, load_settings(), folder=tmp_path, start_timeout_s=0.01),
    ):
        pass

    running = [child.cmdline() for child in psutil.Process().children()]
    assert not [line for line in running if str(tmp_path / "kafka-1" / "server.properties") in line]


def test_count_below_one_is_refused() -> None:
    with pytest.raises(BadInputError, match="brokers: 0: must be at least 1"):
        Brokers(0, load_settings())
