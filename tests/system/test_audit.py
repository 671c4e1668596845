"""The audit before a real broker: it predicts what a producer with other settings then stores, and changes nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
import yaml
from confluent_kafka.admin import AdminClient

from kafka_pareto.audit.audit import audit
from kafka_pareto.audit.reading import Sample
from kafka_pareto.audit.records import AuditReport
from kafka_pareto.audit.verification import Rollout, Verification, verify
from kafka_pareto.audit.verification_text import verification_text
from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.campaign.records import Sizing, TimedLoad
from kafka_pareto.drivers.common.load_tool import LoadRequest
from kafka_pareto.drivers.producer.load_generator import LoadGenerator
from kafka_pareto.errors import BadInputError, ClusterError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.kafka.java import java_environment
from kafka_pareto.kafka.user_settings import read_producer_file
from kafka_pareto.settings import load_settings
from kafka_pareto.study.requests import AuditRequest, VerifyRequest
from tests.system.broker_fixtures import RunningBrokers
from tests.system.steps import ROOT, StepRunner

pytestmark = [pytest.mark.brokers, pytest.mark.studies]

RECORDS, RECORDS_S, PARTITIONS = 6_000, 2_000, 6
PRESENT = {"linger.ms": "20"}  # long enough that a busy broker's answers do not decide on batches
OTHER = {"linger.ms": "100", "batch.size": "65536", "compression.type": "zstd"}


def send(brokers: Brokers, topic: str, events: Path, **properties: str) -> None:
    """Send lines of the file at a rate, with Kafka's own load generator."""
    tool = ["-cp", f"{brokers.settings.kafka_jars}/*", "org.apache.kafka.tools.ProducerPerformance"]
    what = [
        "--topic",
        topic,
        "--num-records",
        str(RECORDS),
        "--payload-file",
        str(events),
        "--throughput",
        str(RECORDS_S),
    ]
    how = [f"bootstrap.servers={brokers.bootstrap_servers}", *(f"{name}={value}" for name, value in properties.items())]
    subprocess.run(
        [brokers.settings.java, "-Xmx128m", *tool, *what, "--command-property", *how],
        env=java_environment(),
        capture_output=True,
        timeout=120,
        check=True,
    )


@pytest.fixture(scope="module")
def brokers(single_broker: RunningBrokers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBrokers]:
    """A broker with events sent with `PRESENT` (`audited.now`), with `OTHER` settings (`audited.then`), and both."""
    random = Random(3)  # noqa: S311
    events = tmp_path_factory.mktemp("audit") / "events.txt"
    with events.open("w", encoding="utf-8") as file:
        for number in range(2000):
            event = {
                "id": random.randbytes(12).hex(),
                "user": random.randrange(5000),
                "page": f"/shop/{random.randrange(90)}",
            }
            file.write(
                json.dumps({**event, "at": 1_764_400_000_000 + number, "kind": random.choice(["view", "buy"])}) + "\n"
            )
    with Cluster(single_broker.bootstrap_servers, None, load_settings()) as cluster:
        for topic, properties in (("audited.now", PRESENT), ("audited.then", OTHER)):
            cluster.create_topic(topic, PARTITIONS, 1)
            send(single_broker, topic, events, **properties)
        cluster.create_topic("audited.rolled_out", PARTITIONS, 1)
        for properties in (PRESENT, OTHER):
            send(single_broker, "audited.rolled_out", events, **properties)
        cluster.create_topic("audited.empty", 1, 1)
        yield single_broker
        for topic in ("audited.now", "audited.then", "audited.rolled_out", "audited.empty"):
            cluster.delete_topic(topic)


def audited(brokers: Brokers, **options: object) -> AuditReport:
    request = AuditRequest.model_validate({"topics": "audited.now,audited.then,audited.empty", **options})
    return audit(request, brokers.bootstrap_servers, load_settings())


def test_what_other_settings_store_is_predicted_within_five_percent(brokers: RunningBrokers) -> None:
    what_if = " ".join(f"{name}={value}" for name, value in OTHER.items())
    found = {each.read.topic: each for each in audited(brokers, what_if=what_if).topics}
    now, then = found["audited.now"], found["audited.then"]
    assert now.read.sample is not None
    assert then.read.sample is not None
    assert now.prediction is not None
    assert now.prediction.fault == ""

    (point,) = now.prediction.points
    assert now.read.sample.records == then.read.sample.records == RECORDS
    assert point.bytes_per_record == pytest.approx(then.read.sample.stored_bytes / RECORDS, rel=0.05)
    # A busy machine sends late, in larger batches.
    assert point.records_per_batch == pytest.approx(RECORDS / then.read.sample.batches, rel=0.4)
    assert point.stored_ratio.value < 0.6
    assert found["audited.empty"].read.sample is None


def test_what_is_read_are_the_producers_records_and_batches(brokers: RunningBrokers) -> None:
    found = next(each.read for each in audited(brokers).topics if each.read.topic == "audited.then")
    sample = found.sample
    assert sample is not None
    assert (found.partitions, found.replicas, found.compression_type, found.is_cut) == (
        PARTITIONS,
        1,
        "producer",
        False,
    )
    assert sum(sample.records_of_partition.values()) == sample.records_day == RECORDS
    assert (sample.keyed, list(sample.codecs)) == (0, ["zstd"])
    assert 2.5 < (sample.last_ms - sample.first_ms) / 1000 < 10
    (producer,) = sample.producers
    assert producer.id is not None
    assert not producer.is_transactional
    largest = {each.batch_bytes: each for each in sample.trials if each.codec == "zstd"}
    assert (
        largest[65536].bytes / largest[65536].uncompressed_bytes
        < largest[0].bytes / largest[0].uncompressed_bytes * 1.1
    )


def test_an_audit_changes_nothing(brokers: RunningBrokers) -> None:
    admin = AdminClient({"bootstrap.servers": brokers.bootstrap_servers})

    def state() -> tuple[int, set[str], set[str]]:
        groups = {each.group_id for each in admin.list_consumer_groups().result().valid}
        return cluster.end_offset("audited.now"), groups, set(admin.list_topics(timeout=10).topics)

    with Cluster(brokers.bootstrap_servers, None, load_settings()) as cluster:
        before = state()
        audited(brokers)
        assert state() == before


def test_few_records_are_the_latest_of_all_partitions(brokers: RunningBrokers) -> None:
    found = next(each.read.sample for each in audited(brokers, records=500).topics if each.read.topic == "audited.now")
    whole = next(each.read.sample for each in audited(brokers).topics if each.read.topic == "audited.now")
    assert found is not None
    assert whole is not None
    assert 500 <= found.records < 1200
    assert found.last_ms == whole.last_ms
    assert found.first_ms > whole.first_ms + 1000


def test_a_topic_that_does_not_exist_is_named(brokers: RunningBrokers) -> None:
    with pytest.raises(BadInputError, match=r"^topic absent: UnknownTopicOrPartitionException"):
        audited(brokers, topics="absent")
    assert [each.topic for each in audited(brokers, topics="absent,audited.empty").unread] == ["absent"]


def test_an_audit_that_takes_too_long_lists_the_other_topics_as_not_read(brokers: RunningBrokers) -> None:
    request = AuditRequest(topics=["audited.now", "audited.then", "audited.empty"])
    report = audit(request, brokers.bootstrap_servers, load_settings(), longest_s=0.0)

    assert [each.read.topic for each in report.topics] == ["audited.now"]
    assert [each.topic for each in report.unread] == ["audited.then", "audited.empty"]
    assert report.unread[0].error == "the time limit of 0 s was reached"


def sample_of(brokers: Brokers, topic: str) -> Sample:
    (found,) = audited(brokers, topics=topic).topics
    assert found.read.sample is not None
    return found.read.sample


def codecs_by_size(sample: Sample, batch_bytes: int = 65536) -> list[str]:
    """The codecs in order of the bytes they leave."""
    return [
        each.codec
        for each in sorted(sample.trials, key=lambda each: each.bytes / each.uncompressed_bytes)
        if each.batch_bytes == batch_bytes
    ]


@pytest.fixture(scope="module")
def traffic(brokers: RunningBrokers, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study of `audited.now`, its sample beside it."""
    folder = tmp_path_factory.mktemp("traffic")
    report = audited(brokers, topics="audited.now", study_folder=folder, consent=True)
    assert report.study is not None
    return Path(report.study)


def test_sampled_records_are_sent_again_as_they_were(brokers: RunningBrokers, traffic: Path) -> None:
    timed = TimedLoad(
        warmup_s=0.0, seconds=0.0, paced_warmup_s=0.0, paced_seconds=RECORDS / RECORDS_S, paced_rate_records_s=RECORDS_S
    )
    load = LoadRequest(
        topic="audited.again",
        record_size_bytes=100,
        properties={"linger.ms": 20},
        timeout_s=60.0,
        timed=timed,
        payload_file=traffic.with_suffix(".jsonl"),
        is_sampled=True,
        arrival="recorded",
    )
    with Cluster(brokers.bootstrap_servers, None, load_settings()) as cluster:
        cluster.create_topic(load.topic, PARTITIONS, 1)
        try:
            result = LoadGenerator(brokers.bootstrap_servers, None, load_settings()).run(load)
            now, again = sample_of(brokers, "audited.now"), sample_of(brokers, load.topic)
        finally:
            cluster.delete_topic(load.topic)

    assert result.records_sent == RECORDS
    assert again.payload_bytes == now.payload_bytes
    assert again.sizes.value_bytes == now.sizes.value_bytes
    assert again.last_ms - again.first_ms == pytest.approx(1000 * RECORDS / RECORDS_S, abs=1000)  # starts late
    assert codecs_by_size(again) == codecs_by_size(now)


@pytest.mark.studies
def test_the_study_of_a_topics_traffic_measures_with_its_records(
    brokers: RunningBrokers, traffic: Path, tmp_path: Path
) -> None:
    steps = StepRunner(tmp_path, brokers)
    content = yaml.safe_load(traffic.read_text())
    content["design"]["configurations"] = 1
    content["protocol"] |= {"seconds": 0.5, "warmup_seconds": 0.2, "noise_repetitions": 0}
    (steps.studies / traffic.name).write_text(yaml.safe_dump(content))
    shutil.copy(traffic.with_suffix(".jsonl"), steps.studies)
    (case,) = map(str, content["record_sizes_bytes"])
    steps.manifest("design", traffic.stem)
    steps.manifest("measure", traffic.stem, "--case", case)

    campaign = steps.campaign(traffic.stem)
    assert campaign.read_record(campaign.keys.sizing(case), Sizing).capacity_records_s is None
    repetitions = campaign.read_repetitions(campaign.keys.measurements(case))
    assert repetitions
    for each in repetitions:
        assert each.outcome == "valid"
        assert each.number("paced_rate_records_s") == pytest.approx(RECORDS_S, rel=0.1)


def audit_at(kafka: str, topics: list[str] | None) -> None:
    audit(AuditRequest(topics=topics), kafka, load_settings())


def verify_at(kafka: str, topics: list[str]) -> None:
    request = VerifyRequest.model_validate({"topic": topics[0], "settings": "new.properties"})
    verify(request, kafka, Rollout("new.properties", {}), load_settings())


@pytest.mark.long
@pytest.mark.parametrize(("read", "topics"), [(audit_at, None), (audit_at, ["orders"]), (verify_at, ["orders"])])
def test_a_cluster_that_does_not_answer_is_named(read: Callable[..., None], topics: list[str] | None) -> None:
    with pytest.raises(ClusterError, match=r"^Kafka cluster 127\.0\.0\.1:1: TimeoutException: .*check the addresses"):
        read("127.0.0.1:1", topics)


def verified(
    brokers: Brokers, topic: str, settings: dict[str, str], previous: dict[str, str], **options: int
) -> Verification:
    rollout = Rollout(
        "new.properties", read_producer_file(lines(settings)).used, read_producer_file(lines(previous)).used
    )
    request = VerifyRequest.model_validate({"topic": topic, "settings": "new.properties", **options})
    return verify(request, brokers.bootstrap_servers, rollout, load_settings())


def lines(settings: dict[str, str]) -> str:
    return "\n".join(f"{name}={value}" for name, value in settings.items())


def test_the_batches_tell_which_of_two_settings_a_producer_uses(brokers: RunningBrokers) -> None:
    (uses,) = verified(brokers, "audited.then", OTHER, PRESENT).producers
    # A busy machine sends late, in larger batches, which fit neither settings.
    assert uses.use == "in use" or "records per batch instead of" in uses.reasons[0]
    assert uses.use != "not in use"
    (late,) = verified(brokers, "audited.now", OTHER, PRESENT).producers
    assert late.use == "not in use"
    assert late.reasons[0] == "codec none instead of zstd"
    # By the records per batch alone.
    (waits,) = verified(brokers, "audited.now", {"linger.ms": "200"}, PRESENT).producers
    assert waits.use != "in use"
    assert "records per batch instead of" in waits.reasons[0]


def test_the_history_shows_when_a_topics_codec_changed(brokers: RunningBrokers) -> None:
    found = verified(brokers, "audited.rolled_out", OTHER, PRESENT, history=4, records=1_000)
    history = found.history
    assert len(history) == 4
    assert [each.until_ms for each in history] == sorted(each.until_ms for each in history)
    assert (history[0].codecs, history[0].use) == (("none",), "not in use")
    assert [each.codecs for each in history[1:]] in (
        [("none",), ("zstd",), ("zstd",)],
        [("none", "zstd"), ("zstd",), ("zstd",)],
    )
    assert history[-1].use != "not in use"
    assert history[0].records_s == pytest.approx(RECORDS_S, rel=0.3)
    assert "Codec changed from none to zstd between " in verification_text(found)


def test_the_command_verify_ends_with_an_exit_code_of_its_own(brokers: RunningBrokers, tmp_path: Path) -> None:
    for name, settings in (("new", OTHER), ("old", PRESENT)):
        (tmp_path / f"{name}.properties").write_text(lines(settings))
    argv = [sys.executable, "-m", "kafka_pareto_cli", "verify", "--kafka", brokers.bootstrap_servers]
    files = ["--settings", "new.properties", "--previous", "old.properties"]
    for topic, code, said in (
        ("audited.now", 1, "Producers: 1 not in use"),
        ("audited.empty", 65, "topic audited.empty: has no records"),
    ):
        done = subprocess.run(
            [*argv, topic, *files],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT / "include")},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert (done.returncode, said in done.stdout + done.stderr) == (code, True), done.stdout + done.stderr
