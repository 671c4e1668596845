"""Studies in librdkafka's settings: what they accept, and what the producer is told."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kafka_pareto.drivers.librdkafka.studies import CompareLibrdkafka, TuneLibrdkafka
from kafka_pareto.drivers.producer.compare import CompareProducer
from kafka_pareto.drivers.producer.cost import largest_memory_mib
from kafka_pareto.errors import StudyError
from kafka_pareto.kafka.known_properties import Durability
from kafka_pareto.rollout.client_files import client_files, settings_file
from kafka_pareto.study.study_file import parse_study
from tests.recorded import STUDIES

pytestmark = pytest.mark.fast

PROTOCOL = yaml.safe_load((STUDIES / "librdkafka.yaml").read_text("utf-8"))["protocol"]
COMPARED: dict[str, Any] = {
    "schema_version": 1,
    "kind": "compare",
    "driver": "librdkafka",
    "name": "mine",
    "description": "A test's.",
    "tables": [{"factor": "batch.num.messages", "levels": [1000, 10000]}],
}


def tuned(**changes: Any) -> TuneLibrdkafka:
    content = yaml.safe_load((STUDIES / "librdkafka.yaml").read_text("utf-8")) | changes
    study = parse_study(yaml.safe_dump(content), "study.yaml")
    assert isinstance(study, TuneLibrdkafka)
    return study


def compared(**changes: Any) -> CompareProducer:
    study = parse_study(yaml.safe_dump(COMPARED | changes), "study.yaml")
    assert isinstance(study, CompareProducer)
    return study


def test_the_baseline_is_librdkafkas_own() -> None:
    study = tuned()
    assert study.baseline_configuration() == {
        "batch.num.messages": 10_000,
        "batch.size": 1_000_000,
        "compression.type": "none",
        "linger.ms": 5,
        "queue.buffering.max.messages": 100_000,
        "sticky.partitioning.linger.ms": 10,
    }
    assert study.durability_of({}) is Durability.acks_all
    assert study.load_of("1024", {}).client == "librdkafka"


def test_a_client_is_told_what_the_study_states_and_its_idempotence() -> None:
    assert tuned().sent_properties({"linger.ms": 20}) == {"linger.ms": 20, "enable.idempotence": False}


def test_the_sticky_linger_follows_the_linger_unless_stated() -> None:
    assert tuned(baseline={"linger.ms": 50}).baseline_configuration()["sticky.partitioning.linger.ms"] == 100
    both = {"linger.ms": 50, "sticky.partitioning.linger.ms": 7}
    assert tuned(baseline=both).baseline_configuration()["sticky.partitioning.linger.ms"] == 7


def test_an_idempotent_baseline_has_few_requests_in_flight_and_no_conflict_with_acks() -> None:
    study = tuned(baseline={"enable.idempotence": True})
    assert study.known.resolved(study.properties({}))["max.in.flight.requests.per.connection"] == 5
    assert study.durability_of({}) is Durability.acks_all_idempotent
    assert study.properties({"acks": "1"})["enable.idempotence"] is False
    assert study.properties({"queue.buffering.backpressure.threshold": 2})["enable.idempotence"] is False


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"baseline": {"buffer.memory": 1 << 25}}, "buffer.memory is not a tunable property of librdkafka's producer"),
        ({"baseline": {"linger.ms": 900_001}}, "must be at most 900000"),
        (
            {"factors": {"queue.buffering.max.message": {"type": "integer", "low": 1, "high": 9}}},
            "did you mean queue.buffering.max.messages",
        ),
        ({"protocol": PROTOCOL | {"seconds": 1.0}}, "must be at least 2 with driver librdkafka"),
        ({"protocol": {"kind": "cold_burst", "records": 1000, "repetitions": 1}}, "kafka_perf_test uses Java's client"),
    ],
)
def test_what_librdkafka_lacks_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(StudyError, match=said):
        tuned(**changes)


def test_a_comparison_has_librdkafkas_settings_and_versions() -> None:
    study = compared(tables=[{"factor": "client", "levels": ["2.3.0", "bundled"]}])
    assert isinstance(study, CompareLibrdkafka)
    loads = [study.load_of("client", level) for level in study.levels_of("client")]
    assert [(load.client, load.client_version) for load in loads] == [
        ("librdkafka", "2.3.0"),
        ("librdkafka", "bundled"),
    ]
    with pytest.raises(StudyError, match=r"buffer\.memory: is not a setting of the driver librdkafka"):
        compared(reference={"buffer.memory": 1 << 25})


def test_a_comparison_of_java_with_librdkafka_sends_the_translated_settings() -> None:
    study = compared(
        driver="producer",
        reference={"linger.ms": 20, "compression.type": "lz4", "buffer.memory": 1 << 26},
        tables=[{"factor": "client", "levels": ["bundled", "librdkafka"]}],
    )
    java, librdkafka = study.levels_of("client")
    assert study.sent_properties(java) == study.properties(java)
    sent = study.sent_properties(librdkafka)
    assert sent["queue.buffering.max.kbytes"] == "65536"
    assert (sent["linger.ms"], sent["compression.type"], sent["batch.size"]) == ("20", "lz4", "16384")
    assert "buffer.memory" not in sent


def test_the_memory_includes_librdkafkas_queue_and_what_each_record_needs_there() -> None:
    records = 1_000_000
    needed_mib = 192 + records * 96 // (1 << 20) + records * (1024 + 256) // (1 << 20)
    assert largest_memory_mib(tuned()) == pytest.approx(needed_mib, abs=1)
    by_kbytes = largest_memory_mib(tuned(record_sizes_bytes=[65_536]))
    assert 192 + 1024 <= by_kbytes < 192 + 1024 + 10
    unlimited = {"queue.buffering.max.messages": {"type": "integer", "levels": [0, 1000]}}
    assert largest_memory_mib(tuned(factors=unlimited, constraints=[])) > needed_mib


def test_its_clients_read_one_file() -> None:
    assert client_files("librdkafka") == ("librdkafka.properties",)
    text = settings_file(tuned().properties({"linger.ms": 20}), "librdkafka.properties", ["Ours."], "librdkafka")
    assert text.startswith("# Ours.\n")
    assert "linger.ms=20\n" in text
    assert "enable.idempotence=false\n" in text
