"""Examinations of this machine without a cluster, of a client's file, and of brokers elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.doctor.cluster_facts import ClusterFacts
from kafka_pareto.doctor.examine import examine
from kafka_pareto.doctor.guide import Guide, load_guide
from kafka_pareto.doctor.host import Host, LocalBroker, local_brokers
from kafka_pareto.doctor.page import doctor_page
from kafka_pareto.doctor.readings import Places, read
from kafka_pareto.doctor.records import VERDICTS, DoctorReport, Finding
from kafka_pareto.doctor.text import report_text
from kafka_pareto.doctor.words import REASONS
from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.cluster import Broker
from kafka_pareto.settings import load_settings
from kafka_pareto.study.requests import DoctorRequest

pytestmark = pytest.mark.fast

ELSEWHERE = Broker(id=1, host="203.0.113.1", port=9092, rack=None)
CONFIGS: dict[str, str | None] = {"num.io.threads": "8", "log.flush.interval.ms": None, "log.dirs": "/a, /b"}


@pytest.fixture(scope="module")
def guide() -> Guide:
    return load_guide()


@pytest.fixture(scope="module")
def alone(guide: Guide) -> DoctorReport:
    return examine(DoctorRequest(), guide, load_settings())


def of(report: DoctorReport, check_id: str) -> Finding:
    return next(finding for finding in report.findings if finding.check.id == check_id)


def places(**changes: object) -> Places:
    facts = {"brokers": (ELSEWHERE,), "kafka_version": "4.3", "configs": {1: CONFIGS}, "topic": None, "members": None}
    return Places(Host(), ClusterFacts(**{**facts, **changes}), [], {})  # type: ignore[arg-type]


def test_without_a_cluster_this_machine_is_judged_and_the_brokers_are_not_readable(alone: DoctorReport) -> None:
    swappiness = int(Path("/proc/sys/vm/swappiness").read_text())
    assert of(alone, "swappiness").found[0].value == swappiness
    assert of(alone, "swappiness").verdict == ("met" if swappiness == 1 else "not_met")
    brokers = [finding for finding in alone.findings if finding.check.group == "broker"]
    assert {(finding.verdict, finding.reason) for finding in brokers} == {("not_readable", "no_cluster")}


def test_every_check_gets_one_verdict_and_only_unmet_ones_a_fix(alone: DoctorReport, guide: Guide) -> None:
    assert [finding.check.id for finding in alone.findings] == [check.id for check in guide.checks]
    assert sum(alone.count(verdict) for verdict in VERDICTS) == len(guide.checks)
    assert {finding.verdict for finding in alone.findings if finding.check.fix} == {"not_met"}


def test_a_producers_file_is_judged_with_kafkas_defaults_and_its_secrets_are_hidden(
    guide: Guide, tmp_path: Path
) -> None:
    file = tmp_path / "producer.properties"
    file.write_text('batch.size = 1048576\nlinger.ms: 20\nsasl.jaas.config=x password="hunter2";\n')
    report = examine(DoctorRequest(producer=file), guide, load_settings())
    assert of(report, "batch_size").verdict == of(report, "linger").verdict == "met"
    codec = of(report, "compression")
    assert (codec.verdict, codec.found[0].subject, codec.found[0].value) == ("not_met", "Kafka's default", "none")
    assert "hunter2" not in report.model_dump_json()


def test_a_file_of_librdkafka_is_judged_by_the_settings_that_librdkafka_has(guide: Guide, tmp_path: Path) -> None:
    producer, consumer = tmp_path / "producer.conf", tmp_path / "consumer.conf"
    producer.write_text("queue.buffering.max.ms=20\nmessage.timeout.ms=5000\n")
    consumer.write_text("fetch.wait.max.ms=500\n")
    report = examine(DoctorRequest(producer=producer, consumer=consumer), guide, load_settings())
    assert (of(report, "linger").verdict, of(report, "fetch_wait").verdict) == ("met", "met")
    for absent in (of(report, "max_block"), of(report, "poll_records")):
        assert (absent.verdict, absent.found, absent.reason) == ("not_applicable", [], "not_in_librdkafka")
    assert report_text(report).count("librdkafka has no such setting") == 2


def test_a_clients_file_that_cannot_be_read_is_named_and_not_quoted(guide: Guide, tmp_path: Path) -> None:
    file = tmp_path / "consumer.properties"
    file.write_text("ssl.key.password=\\uhunter2\n")
    with pytest.raises(BadInputError, match=r"^CONSUMER=.*consumer\.properties: invalid consumer settings") as refused:
        examine(DoctorRequest(consumer=file), guide, load_settings())
    assert "hunter2" not in str(refused.value)


def test_a_consumers_settings_in_springs_form_are_judged_as_spring_binds_them(guide: Guide, tmp_path: Path) -> None:
    file = tmp_path / "application.yaml"
    file.write_text(
        "spring:\n  kafka:\n    consumer:\n      fetch-min-size: 1MB\n      fetch-max-wait: 500ms\n      group-id: g\n"
        "      auto-offset-reset: earliest\n      properties:\n        heartbeat.interval.ms: 10000\n"
        "        interceptor.classes: com.example.Audit\n    producer:\n      acks: all\n"
    )
    report = examine(DoctorRequest(consumer=file, producer=file), guide, load_settings())
    met = ("fetch_min", "fetch_wait", "heartbeat", "offset_reset")
    assert [of(report, name).verdict for name in met] == ["met"] * len(met)
    assert {of(report, name).found[0].subject for name in (*met, "acks")} == {"file"}
    assert (of(report, "auto_commit").verdict, of(report, "auto_commit").reason) == ("not_readable", "other_default")
    first, *others = report.client_files["consumer"]
    assert first == (
        "read as Spring Boot: fetch.min.bytes=1048576, fetch.max.wait.ms=500, auto.offset.reset=earliest, "
        "heartbeat.interval.ms=10000"
    )
    own = "depends on your client and is not measured"
    assert others == [
        "ignored spring.kafka.producer.acks: is not a setting of the consumer",
        f"ignored spring.kafka.consumer.group-id: {own}",
        f"ignored spring.kafka.consumer.properties.interceptor.classes: {own}",
        "note: defaults differ from Kafka's; set in the file: enable.auto.commit (false in listeners)",
    ]
    lines = report_text(report).splitlines()
    assert "Producer: read as Spring Boot: acks=all" in lines
    assert f"Consumer: ignored spring.kafka.consumer.group-id: {own}" in lines
    assert "fetch.min.bytes=1048576" in doctor_page(report)


def test_a_consumers_file_that_kafka_refuses_is_refused(guide: Guide, tmp_path: Path) -> None:
    file = tmp_path / "consumer.properties"
    file.write_text("session.timeout.ms=3000\n")
    with pytest.raises(BadInputError, match=r"heartbeat\.interval\.ms 3000 must be below session\.timeout\.ms 3000; "):
        examine(DoctorRequest(consumer=file), guide, load_settings())


@pytest.mark.parametrize("option", ["topic", "group", "kafka_config"])
def test_checks_that_need_a_cluster_are_refused_without_one(guide: Guide, option: str) -> None:
    with pytest.raises(BadInputError, match=rf"^{option.upper()}=x needs a cluster; pass KAFKA="):
        examine(DoctorRequest.model_validate({option: "x"}), guide, load_settings())


def test_the_kernel_of_a_machine_without_brokers_is_not_judged_for_theirs(guide: Guide) -> None:
    sources = {"machine", "network", "mount", "disk", "sysctl", "sys", "limit", "jvm"}
    reasons = {read(check, places()).reason for check in guide.checks if check.reads.source in sources}
    assert reasons == {"other_machine"}


def test_a_brokers_settings_are_read_wherever_it_runs(guide: Guide) -> None:
    readings = {check.reads.name: read(check, places()) for check in guide.checks if check.reads.source == "broker"}
    assert [(each.subject, each.value) for each in readings["num.io.threads"].found] == [("broker 1", 8)]
    assert [each.value for each in readings["log.flush.interval.ms"].found] == [None]
    assert readings["zookeeper.connect"].reason == "not_told"


def test_a_user_without_rights_gets_a_clear_error(guide: Guide) -> None:
    denied = places(configs=None, denied=frozenset({"broker", "topic", "group"}))
    reasons = {
        check.reads.source: read(check, denied).reason
        for check in guide.checks
        if check.reads.source in ("broker", "topic", "group")
    }
    assert reasons == {"broker": "not_allowed", "topic": "not_allowed", "group": "not_allowed"}


def test_log_folders_are_a_list() -> None:
    facts = places().cluster
    assert facts is not None
    assert facts.log_folders(1) == ["/a", "/b"]
    assert facts.log_folders(2) == []


def test_a_broker_with_another_address_or_without_a_process_is_not_local() -> None:
    closed = Broker(id=2, host="127.0.0.1", port=1, rack=None)
    unknown = Broker(id=3, host="no-such-host.invalid", port=9092, rack=None)
    assert local_brokers([ELSEWHERE, closed, unknown]) == []


def test_brokers_that_share_loopback_and_a_machine_share_its_cores_and_no_interface(guide: Guide) -> None:
    alone = places(brokers=(ELSEWHERE, ELSEWHERE.model_copy(update={"id": 2})))
    two = Places(alone.host, alone.cluster, [LocalBroker(1, 1, "lo"), LocalBroker(2, 1, "lo")], {})
    found = {check.id: read(check, two) for check in guide.checks if check.id in ("cores", "nic_speed")}
    assert two.cores is not None
    assert found["cores"].found[0].value == two.cores / 2
    assert (found["nic_speed"].reason, found["nic_speed"].is_applicable) == ("loopback", False)


def test_a_log_folder_on_no_mount_is_not_denied(guide: Guide, tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7/mountinfo").write_text("22 1 253:0 / /jail rw - ext4 /dev/vda rw\n")
    jailed = Places(Host(tmp_path), places().cluster, [LocalBroker(1, 7, "lo")], {})
    reasons = {read(check, jailed).reason for check in guide.checks if check.reads.source in ("mount", "disk")}
    assert reasons == {"no_mount"}
    assert "no_mount" in REASONS
