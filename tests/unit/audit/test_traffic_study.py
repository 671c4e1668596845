"""The study that an audit writes: the topic's records, rate, producers and present settings."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from kafka_pareto.audit.audit import audit
from kafka_pareto.audit.records import AuditedTopic
from kafka_pareto.audit.traffic_study import TrafficStudy
from kafka_pareto.drivers.producer.tune import TuneProducer
from kafka_pareto.errors import BadInputError, ConsentError
from kafka_pareto.kafka.known_properties import Durability
from kafka_pareto.settings import Settings
from kafka_pareto.study.requests import AuditRequest
from kafka_pareto.study.study_file import load_named_study
from tests.unit.audit.test_audit import sample, topic

pytestmark = pytest.mark.fast

RECORDS = '{"timestamp_ms": 7, "key": "k", "value": "123456789"}\n' * 3


def written(folder: Path, found: AuditedTopic, name: str = "orders") -> TuneProducer:
    study = TrafficStudy(folder, name)
    with study.files():
        study.sample.write_text(RECORDS)
        study.write(found, "a:9092", "2026-11-29T12:00:00+00:00")
    loaded = load_named_study(folder, study.name)
    assert isinstance(loaded, TuneProducer)
    return loaded


def test_the_study_has_the_topics_traffic(tmp_path: Path) -> None:
    study = written(tmp_path, topic(sample()))
    workload, paced = study.workload, study.protocol.paced

    assert (study.name, study.cases) == ("orders_traffic", ["10"])
    assert study.baseline == {"batch.size": 16384, "linger.ms": 5, "compression.type": "none"}
    assert (workload.topic_partitions, workload.replication_factor, workload.min_insync_replicas) == (2, 3, 1)
    assert (workload.producers, workload.arrival) == (1, "recorded")
    assert paced is not None
    assert (paced.rate_records_s, paced.seconds, paced.rate_fraction) == (200, 10, None)  # 2,000 records


def test_traffic_of_librdkafka_gets_a_study_of_it(tmp_path: Path) -> None:
    found = sample()
    replay = found.replay.model_copy(update={"client": "librdkafka"})
    study = written(tmp_path, topic(found.model_copy(update={"replay": replay})))

    assert (study.driver, study.workload.arrival) == ("librdkafka", "recorded")
    seen = {"batch.size": 16384, "linger.ms": 5, "compression.type": "none"}
    assert study.baseline == {**seen, "enable.idempotence": True}
    assert study.weakest_durability() == Durability.acks_all_idempotent
    assert "queue.buffering.max.messages" in study.factors


def test_without_the_times_of_sending_only_the_records_are_the_topics(tmp_path: Path) -> None:
    study = written(tmp_path, topic(sample(fault="records have no time")))
    workload, paced = study.workload, study.protocol.paced

    assert (study.baseline, workload.producers, workload.arrival) == ({}, 1, "constant")
    assert paced is not None
    assert (paced.rate_fraction, paced.rate_records_s) == (0.5, None)
    head = (tmp_path / "orders_traffic.yaml").read_text().splitlines()[2]
    assert head == "# Rate, arrivals, producers and baseline are not the topic's: records have no time."


def test_settings_that_explain_too_little_are_no_baseline(tmp_path: Path) -> None:
    study = written(tmp_path, topic(sample(again=1600)))

    assert (study.baseline, study.workload.arrival) == ({}, "recorded")
    head = (tmp_path / "orders_traffic.yaml").read_text().splitlines()[2]
    assert head.startswith("# The baseline is Kafka's defaults: no settings explain the stored batches")


def test_many_producers_are_not_tuned_to_large_buffers(tmp_path: Path) -> None:
    levels = {}
    for count in (1, 4, 16):
        found = sample().model_copy(update={"producer_count": count})
        study = written(tmp_path / str(count), topic(found))
        factor = study.factors.get("buffer.memory")
        levels[count] = [int(each) >> 20 for each in (factor.levels or [])] if factor else []

    assert levels == {1: [32, 64, 128, 256], 4: [32, 64, 128], 16: []}


def test_a_sample_that_cannot_be_sent_is_refused(tmp_path: Path) -> None:
    study = TrafficStudy(tmp_path, "orders")
    with pytest.raises(BadInputError, match=r"^topic orders: the sample: holds no records"), study.files():
        study.write(topic(sample()), "a:9092", "2026-11-29T12:00:00+00:00")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("compression_type", "codec", "why"),
    [
        ("zstd", {}, "the topic's compression.type, zstd, makes the broker recompress"),
        (None, {"compression.type": "none"}, "without DescribeConfigs on the topic it is unknown whether the broker"),
    ],
)
def test_a_codec_that_may_be_the_brokers_is_said_not_to_be_the_producers(
    tmp_path: Path, compression_type: str | None, codec: dict[str, str], why: str
) -> None:
    found = topic(sample())
    read = found.read.model_copy(update={"compression_type": compression_type})
    study = written(tmp_path, found.model_copy(update={"read": read}))

    assert study.baseline == {"batch.size": 16384, "linger.ms": 5, **codec}
    head = (tmp_path / "orders_traffic.yaml").read_text().splitlines()[2]
    assert head.startswith(f"# The baseline's codec may not be the producers': {why}")


@pytest.mark.parametrize(
    ("name", "file"), [("Orders.EU-1", "orders_eu-1_traffic"), ("__x", "x_traffic"), ("...", "topic_traffic")]
)
def test_the_files_are_named_after_the_topic(tmp_path: Path, name: str, file: str) -> None:
    assert written(tmp_path, topic(sample(), name), name).name == file


def test_only_the_owner_may_read_the_records(tmp_path: Path) -> None:
    written(tmp_path, topic(sample()))

    modes = {each.suffix: stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}
    assert modes == {".yaml": 0o600, ".jsonl": 0o600}


def test_an_existing_study_stays(tmp_path: Path) -> None:
    written(tmp_path, topic(sample()))
    before = (tmp_path / "orders_traffic.yaml").read_text()

    with pytest.raises(BadInputError, match=r"^STUDY_FOLDER: .*orders_traffic\.jsonl exists; remove or"):
        written(tmp_path, topic(sample(stored=1600)))
    assert (tmp_path / "orders_traffic.yaml").read_text() == before


def test_a_topic_without_records_leaves_no_files(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"^topic orders: has no records to sample"):
        written(tmp_path / "new", topic(None))
    assert list((tmp_path / "new").iterdir()) == []


def test_records_are_kept_of_one_named_topic_and_with_consent(tmp_path: Path) -> None:
    for topics in (None, ["a", "b"]):
        with pytest.raises(BadInputError, match=r"^STUDY_FOLDER: needs exactly one topic; name it with TOPICS"):
            audit(AuditRequest(topics=topics, study_folder=tmp_path), "a:9092", Settings())
    with pytest.raises(ConsentError, match=r"^a study would keep records of topic a in .*add CONSENT=yes"):
        audit(AuditRequest(topics=["a"], study_folder=tmp_path), "a:9092", Settings())
    assert list(tmp_path.iterdir()) == []
