"""The doctor before real brokers: it tells their true values, finds what was planted, and repeats no secret."""

from __future__ import annotations

from collections.abc import Iterator

import psutil
import pytest

from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.brokers.jvm import HEAP_MIB
from kafka_pareto.doctor.cluster_facts import cluster_facts
from kafka_pareto.doctor.examine import examine
from kafka_pareto.doctor.guide import load_guide
from kafka_pareto.doctor.records import DoctorReport, Finding
from kafka_pareto.doctor.text import report_text
from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.settings import load_settings
from kafka_pareto.study.requests import DoctorRequest
from tests.system.broker_fixtures import RunningBrokers

pytestmark = pytest.mark.brokers

PLANTED_SECRET = "hunter2"  # noqa: S105 (planted to be looked for)
PLANTED_IO_THREADS = 77


@pytest.fixture(scope="module")
def planted() -> Iterator[Brokers]:
    properties = {
        "num.io.threads": PLANTED_IO_THREADS,
        "socket.send.buffer.bytes": 1 << 20,
        "ssl.key.password": PLANTED_SECRET,
    }
    with Brokers(1, load_settings(), properties=properties, jmx_configuration=None) as brokers:
        yield brokers


@pytest.fixture(scope="module")
def cluster(planted: Brokers) -> Iterator[Cluster]:
    with Cluster(planted.bootstrap_servers, None, planted.settings) as opened:
        yield opened


@pytest.fixture(scope="module")
def report(planted: Brokers) -> DoctorReport:
    return examine(DoctorRequest(kafka=planted.bootstrap_servers), load_guide(), planted.settings)


def of(report: DoctorReport, check_id: str) -> Finding:
    return next(finding for finding in report.findings if finding.check.id == check_id)


def values(report: DoctorReport, check_id: str) -> dict[str, object]:
    return {found.subject: found.value for found in of(report, check_id).found}


def test_a_planted_setting_is_found_among_those_that_are_met(report: DoctorReport) -> None:
    assert of(report, "io_threads").verdict == "safer"
    assert values(report, "io_threads") == {"broker 1": PLANTED_IO_THREADS}
    assert (of(report, "replica_fetchers").verdict, values(report, "replica_fetchers")) == ("not_met", {"broker 1": 1})
    assert of(report, "send_buffer").verdict == "met"
    assert of(report, "receive_buffer").verdict == "safer"
    assert values(report, "receive_buffer") == {"broker 1": 102_400}  # Kafka's default
    assert of(report, "flush_ms").verdict == "met"


def test_the_brokers_jvm_is_read_from_its_own_command_line(report: DoctorReport) -> None:
    assert values(report, "heap_most") == values(report, "heap_start") == {"broker 1": HEAP_MIB << 20}
    assert (of(report, "gc_pause").verdict, values(report, "gc_pause")) == ("met", {"broker 1": 20})
    assert of(report, "gc_log").verdict == "met"
    assert of(report, "safepoint_log").verdict == "not_met"


def test_the_brokers_limits_and_mount_are_those_of_its_process(report: DoctorReport, planted: Brokers) -> None:
    soft, hard = psutil.Process(planted.pids["kafka-1"]).rlimit(psutil.RLIMIT_NOFILE)
    assert values(report, "open_files") == {"broker 1, soft": soft, "broker 1, hard": hard}
    folder = planted.nodes["kafka-1"].data_folder
    mounts = [part for part in psutil.disk_partitions(all=True) if folder.is_relative_to(part.mountpoint)]
    assert values(report, "file_system") == {"broker 1": max(mounts, key=lambda part: len(part.mountpoint)).fstype}


def test_removed_settings_and_those_meaningless_on_loopback_do_not_apply(report: DoctorReport) -> None:
    gone = {check_id: of(report, check_id).verdict for check_id in ("zookeeper", "biased_locking", "nic_speed")}
    assert set(gone.values()) == {"not_applicable"}
    assert (report.kafka_version, report.brokers, report.brokers_here) == ("4.3", [1], [1])


def test_no_secret_of_the_broker_is_repeated(report: DoctorReport) -> None:
    assert PLANTED_SECRET not in report.model_dump_json()
    assert PLANTED_SECRET not in report_text(report)


def test_a_topic_and_a_group_are_looked_at_where_they_are_named(three_brokers: RunningBrokers) -> None:
    guide, settings = load_guide(), three_brokers.settings
    with Cluster(three_brokers.bootstrap_servers, None, settings) as cluster:
        cluster.create_topic("examined", 4, 3, {"segment.bytes": "536870912"})

    request = DoctorRequest(kafka=three_brokers.bootstrap_servers, topic="examined")
    report = examine(request, guide, settings)

    topic = {name: of(report, name).verdict for name in ("replication", "min_isr", "topic_segment")}
    assert set(topic.values()) == {"met"}
    assert (of(report, "partitions").verdict, values(report, "partitions")) == ("not_met", {"topic": 4})
    assert report.brokers_here == [1, 2, 3]
    assert len(values(report, "io_threads")) == 3


@pytest.mark.parametrize("option", ["topic", "group"])
def test_missing_brokers_and_topics_are_named(cluster: Cluster, option: str) -> None:
    asked = {"topic": None, "group": None, option: "absent"}
    with pytest.raises(BadInputError, match=rf"^{option.upper()}=absent: the .* does not exist on this cluster"):
        cluster_facts(cluster, load_guide(), **asked)


def test_a_groups_consumers_are_counted(planted: Brokers, cluster: Cluster) -> None:
    from confluent_kafka import Consumer

    cluster.create_topic("read", 2, 1)
    consumer = Consumer({"bootstrap.servers": planted.bootstrap_servers, "group.id": "readers"})
    consumer.subscribe(["read"])
    try:
        for _ in range(100):
            consumer.poll(0.2)
            if consumer.assignment():
                break
        assert cluster_facts(cluster, load_guide(), None, "readers").members == 1
    finally:
        consumer.close()
