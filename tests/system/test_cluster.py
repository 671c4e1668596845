"""The cluster door on real brokers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from tenacity import retry, retry_if_not_result, stop_after_delay, wait_fixed

from kafka_pareto.brokers.ports import free_ports
from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.admin_process import ClusterHelper
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.settings import load_settings
from tests.system.broker_fixtures import RunningBrokers

pytestmark = pytest.mark.brokers

MIB = 1 << 20


@pytest.fixture
def cluster(single_broker: RunningBrokers) -> Iterator[Cluster]:
    with Cluster(single_broker.bootstrap_servers, None, single_broker.settings) as opened:
        yield opened


@pytest.fixture
def wide_cluster(three_brokers: RunningBrokers) -> Iterator[Cluster]:
    with Cluster(three_brokers.bootstrap_servers, None, three_brokers.settings) as opened:
        yield opened


def test_description_names_version_brokers_and_controller(wide_cluster: Cluster, three_brokers: RunningBrokers) -> None:
    described = wide_cluster.describe()

    assert described.kafka_version == "4.3"
    assert {broker.port for broker in described.brokers} == {p.port for p in three_brokers.nodes.values()}
    assert {broker.host for broker in described.brokers} == {"127.0.0.1"}
    assert described.controller_id in {1, 2, 3}
    assert len(described.cluster_id) == 22


def test_created_topic_is_complete_and_has_the_settings_it_was_given(wide_cluster: Cluster) -> None:
    assert wide_cluster.create_topic("whole", 3, 3, {"min.insync.replicas": "1"}) == "created"

    health = wide_cluster.topic_health("whole")
    assert health.is_healthy
    assert [partition.in_sync_replicas for partition in health.partitions] == [3, 3, 3]
    assert wide_cluster.topic_health("whole").min_insync_replicas == 1


def test_creating_a_topic_again_is_content_with_an_equal_one_and_refuses_another_shape(cluster: Cluster) -> None:
    cluster.create_topic("again", 2, 1)

    assert cluster.create_topic("again", 2, 1) == "existed"
    with pytest.raises(
        ClusterError, match="again already exists with partitions=2 and replication factor 1 instead of 3 and 1"
    ):
        cluster.create_topic("again", 3, 1)


def test_more_replicas_than_brokers_is_refused_with_kafkas_reason_and_a_fix(
    cluster: Cluster, single_broker: RunningBrokers
) -> None:
    with pytest.raises(ClusterError) as refused:
        cluster.create_topic("too-wide", 1, 5)

    assert refused.value.kafka_error == "InvalidReplicationFactorException"
    for part in (single_broker.bootstrap_servers, "create_topic", "only 1 broker(s)", "start more brokers"):
        assert part in str(refused.value)


def test_deleted_topic_is_gone_and_deleting_it_again_is_not_an_error(cluster: Cluster) -> None:
    cluster.create_topic("short-lived", 1, 1)

    assert cluster.delete_topic("short-lived") == "deleted"
    assert cluster.delete_topic("short-lived") == "absent"
    with pytest.raises(ClusterError, match="create the topic, or check who deleted it"):
        cluster.topic_health("short-lived")


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_end_offset_grows_by_exactly_the_records_sent(
    cluster: Cluster, single_broker: RunningBrokers, acks: str
) -> None:
    topic = f"growing-{acks}"
    cluster.create_topic(topic, 3, 1)
    before = cluster.end_offset(topic)

    single_broker.send(topic, 1000, 100, acks)

    assert cluster.wait_for_end_offset_growth(topic, before, 1000, deadline_s=10) == 1000


def test_growth_separates_lost_from_duplicated_records(cluster: Cluster, single_broker: RunningBrokers) -> None:
    cluster.create_topic("uneven", 3, 1)
    single_broker.send("uneven", 100, 100)

    assert cluster.wait_for_end_offset_growth("uneven", 0, 101, deadline_s=1) == 100
    assert cluster.wait_for_end_offset_growth("uneven", 0, 99, deadline_s=1) == 100


def test_deleted_records_leave_the_disk_within_seconds(cluster: Cluster, single_broker: RunningBrokers) -> None:
    cluster.create_topic("heap", 1, 1, {"segment.bytes": str(4 * MIB)})
    single_broker.send("heap", 32_000, 1024)
    assert _topic_bytes(cluster, "heap") > 30 * MIB

    cluster.delete_records("heap")

    _wait_until(lambda: _topic_bytes(cluster, "heap") <= 4 * MIB, deadline_s=60)
    folder = single_broker.nodes["kafka-1"].data_folder / "heap-0"
    _wait_until(lambda: sum(file.stat().st_size for file in folder.glob("*.log*")) <= 4 * MIB, deadline_s=60)
    assert cluster.end_offset("heap") == 32_000


def test_log_dirs_tell_free_space_of_every_broker(wide_cluster: Cluster) -> None:
    dirs = wide_cluster.log_dirs("no-such-topic")

    assert [(found.broker_id, found.topic_bytes, found.error) for found in dirs] == [(n, 0, None) for n in (1, 2, 3)]
    for found in dirs:
        assert found.usable_bytes is not None
        assert found.total_bytes is not None
        assert 0 < found.usable_bytes < found.total_bytes


@pytest.mark.long
def test_killed_broker_shows_as_shrunken_isr_and_recovers(wide_cluster: Cluster, three_brokers: RunningBrokers) -> None:
    wide_cluster.create_topic("shaken", 3, 3)
    wide_cluster.create_topic("tenants", 2, 3)
    assert "tenants" not in {each.topic for each in wide_cluster.all_topics_health().troubled}

    three_brokers.kill("kafka-2")
    try:
        _wait_until(lambda: "3 with a replica out" in wide_cluster.topic_health("shaken").reason, deadline_s=90)
        shrunken = wide_cluster.topic_health("shaken")
        troubled = {each.topic: each.reason for each in wide_cluster.all_topics_health().troubled}
    finally:
        three_brokers.start("kafka-2")

    assert "3 with a replica out of sync" in shrunken.reason
    assert "below min.insync.replicas" not in shrunken.reason
    assert troubled["tenants"] == "topic tenants: of 2 partitions 2 with a replica out of sync"
    _wait_until(lambda: wide_cluster.topic_health("shaken").is_healthy, deadline_s=90)


def test_questions_are_answered_without_another_jvm_start(wide_cluster: Cluster, three_brokers: RunningBrokers) -> None:
    wide_cluster.create_topic("asked", 3, 3)
    helpers = _java_children() - set(three_brokers.pids.values())

    for _ in range(20):
        wide_cluster.end_offset("asked")

    assert helpers
    assert _java_children() - set(three_brokers.pids.values()) == helpers


def _java_children() -> set[int]:
    return {child.pid for child in psutil.Process().children() if child.name() == "java"}


def test_unreachable_cluster_is_named_with_a_fix() -> None:
    address = f"127.0.0.1:{free_ports(1)[0]}"

    with Cluster(address, None, load_settings()) as cluster, pytest.raises(ClusterError) as unreachable:
        cluster.describe()

    for part in (address, "describe_cluster", "check that the brokers run"):
        assert part in str(unreachable.value)


def test_ended_helper_is_an_error_and_not_a_hang(cluster: Cluster) -> None:
    _helper_process().kill()

    with pytest.raises(ClusterError, match="the helper process ended"):
        cluster.describe()


def test_hanging_helper_times_out(single_broker: RunningBrokers) -> None:
    helper = ClusterHelper(single_broker.bootstrap_servers, None, single_broker.settings)
    try:
        _helper_process().suspend()
        with pytest.raises(ClusterError, match="did not respond within 5 s"):
            helper.ask("describe_cluster", 0.1)
    finally:
        helper.close()


def test_question_after_an_interrupted_one_gets_its_own_answer(cluster: Cluster) -> None:
    cluster.create_topic("interrupted", 1, 1)
    helper = _helper_process()

    helper.suspend()
    with pytest.raises(KeyboardInterrupt):
        _interrupt_after(0.5, lambda: cluster.end_offset("interrupted"))
    helper.resume()

    assert cluster.delete_topic("interrupted") == "deleted"


def test_helper_ends_with_the_context(single_broker: RunningBrokers) -> None:
    with Cluster(single_broker.bootstrap_servers, None, single_broker.settings):
        process = _helper_process()

    assert not process.is_running()


def test_helper_dies_with_a_killed_parent(single_broker: RunningBrokers) -> None:
    program = (
        "import sys; from kafka_pareto.kafka.cluster import Cluster; from kafka_pareto.settings import load_settings\n"
        "with Cluster(sys.argv[1], None, load_settings()): print('open', flush=True); sys.stdin.read()"
    )
    include = Path(__file__).parents[2] / "include"
    parent = subprocess.Popen(
        [sys.executable, "-c", program, single_broker.bootstrap_servers],
        env={**os.environ, "PYTHONPATH": str(include)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"open\n"
        (helper,) = psutil.Process(parent.pid).children()
        parent.kill()

    _wait_until(lambda: not helper.is_running() or helper.status() == psutil.STATUS_ZOMBIE, deadline_s=10)


def _helper_process() -> psutil.Process:
    (helper,) = [child for child in psutil.Process().children() if "io.kafkapareto.ClusterAdmin" in child.cmdline()]
    return helper


def _interrupt_after(seconds: float, call: Callable[[], object]) -> None:
    previous = signal.signal(signal.SIGUSR1, signal.default_int_handler)
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGUSR1))
    timer.start()
    try:
        call()
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, previous)


def _topic_bytes(cluster: Cluster, topic: str) -> int:
    return sum(found.topic_bytes for found in cluster.log_dirs(topic))


def _wait_until(condition: Callable[[], bool], deadline_s: float) -> None:
    retry(retry=retry_if_not_result(bool), stop=stop_after_delay(deadline_s), wait=wait_fixed(0.2))(condition)()
