"""Loads, payload files and costs of a comparison's repetitions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kafka_pareto.campaign.records import Sizing, TimedLoad
from kafka_pareto.drivers.common.load_tool import LoadRequest
from kafka_pareto.drivers.producer.attempt import request_for, sized_for
from kafka_pareto.drivers.producer.compare import CompareProducer
from kafka_pareto.drivers.producer.payload import payload_files
from kafka_pareto.drivers.producer.runtime import ProducerRuntime
from kafka_pareto.errors import BadInputError, StudyError
from kafka_pareto.measurement.cost import plan_comparison
from kafka_pareto.study.overrides import with_overrides
from kafka_pareto.study.workload import CompressiblePayload, ProducerLoad, SampledPayload
from tests.compared import BLOCKS, comparison, designed

pytestmark = pytest.mark.fast

TIMED = TimedLoad(warmup_s=1.0, seconds=2.0, paced_warmup_s=0.5, paced_seconds=2.0, paced_rate_records_s=1000.0)
SIZING = Sizing(records=4000, warmup_records=0, throughput_limit_records_s=2000.0, timed=TIMED)
TEXT = CompressiblePayload(compressed_fraction=0.3)


def requested(study: CompareProducer, case: str, place: int) -> LoadRequest:
    return request_for(case, study.levels_of(case)[place], study, SIZING, "topic")


def sized(study: CompareProducer, case: str, place: int, sizing: Sizing) -> Sizing:
    return sized_for(case, study.levels_of(case)[place], study, sizing)


@pytest.mark.parametrize(
    ("place", "records", "limit_records_s", "paced_rate_records_s"),
    [
        pytest.param(0, 4000, 2000.0, 1000.0, id="smaller records keep the reference's records per second"),
        pytest.param(1, 4000, 2000.0, 1000.0, id="the reference"),
        pytest.param(2, 2000, 1000.0, 500.0, id="records twice as large keep the reference's bytes per second"),
    ],
)
def test_a_level_sends_at_most_the_references_bytes_and_records_per_second(
    place: int, records: int, limit_records_s: float, paced_rate_records_s: float
) -> None:
    study = comparison()
    found = sized(study, "record_size", place, SIZING)
    assert found.timed is not None
    assert (found.records, found.throughput_limit_records_s) == (records, limit_records_s)
    assert found.timed == TIMED.model_copy(update={"paced_rate_records_s": paced_rate_records_s})


def test_levels_of_anything_else_are_sized_as_their_reference() -> None:
    study = comparison()
    assert [sized(study, "grid", place, SIZING) for place in range(4)] == [SIZING] * 4


def test_even_the_largest_record_is_sent_once_and_at_a_rate_above_zero() -> None:
    study = comparison(tables=[{"factor": "record.size", "levels": [1, 1_000_000]}], reference={"record.size": 1})
    slow = SIZING.model_copy(update={"records": 10, "timed": TIMED.model_copy(update={"paced_rate_records_s": 2.0})})
    found = sized(study, "record_size", 1, slow)
    assert found.timed is not None
    assert (found.records, found.timed.paced_rate_records_s) == (1, 1.0)


def test_the_load_generator_is_asked_for_the_levels_producers_and_payload() -> None:
    study = comparison(
        tables=[
            {"factor": "producers", "levels": [1, 5]},
            {"factor": "payload", "levels": ["random", "zeros"], "fixed": {"record.size": 100}},
        ]
    )
    of_producers = requested(study, "producers", 1)
    assert (of_producers.producers, of_producers.made_payload, of_producers.record_size_bytes) == (5, "random", 1024)
    of_payload = requested(study, "payload", 1)
    assert (of_payload.producers, of_payload.made_payload, of_payload.record_size_bytes) == (1, "zeros", 100)
    assert {"producers", "payload", "record.size"}.isdisjoint(of_payload.properties)


@pytest.mark.slow
def test_each_kind_and_size_of_text_has_one_file_with_a_record_in_each_line(tmp_path: Path) -> None:
    with payload_files(designed(tmp_path)) as payloads:
        small, again, large = (payloads.file_of(ProducerLoad(size, TEXT)) for size in (4096, 4096, 65536))
        assert small is not None
        assert large is not None
        assert small == again != large
        assert {len(line) for line in small.read_text().splitlines()} == {4096}
        assert {len(line) for line in large.read_text().splitlines()} == {65536}
    assert not small.exists()


def test_records_made_by_the_load_generator_need_no_file(tmp_path: Path) -> None:
    with payload_files(designed(tmp_path)) as payloads:
        assert payloads.file_of(ProducerLoad(100)) is None
        assert payloads.file_of(ProducerLoad(100, "zeros")) is None


def test_partitions_and_replicas_are_levels_beside_those_of_the_workload() -> None:
    replicas = {
        "name": "replicas",
        "variants": {"ours": {}, "one": {"replication_factor": 1, "min_insync_replicas": 1}},
    }
    study = comparison(tables=[{"factor": "topic_partitions", "levels": [1, 3]}], variants=[replicas], grid=None)

    assert [each.topic_partitions for each in study.topics_of("topic_partitions")] == [3, 1]
    assert [each.replication_factor for each in study.topics_of("replicas")] == [3, 1]
    assert study.topic_of(study.baseline_configuration("replicas")) == study.workload


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"replication_factor": 1}, "min_insync_replicas 2: must not exceed replication_factor 1"),
        ({"replication_factor": 5}, "replication_factor 5: must not exceed testbed.brokers 3"),
    ],
)
def test_an_impossible_topic_is_named(changes: dict[str, int], rule: str) -> None:
    part = {"name": "replicas", "variants": {"ours": {}, "other": changes}}
    with pytest.raises(BadInputError, match=rule):
        comparison(tables=[], variants=[part], grid=None, testbed={"brokers": 3})


def test_a_comparison_costs_every_level_of_every_part_once_in_a_block() -> None:
    plan = plan_comparison(comparison(), ProducerRuntime())
    assert plan.repetitions == (2 + 3 + 4) * BLOCKS
    # Each part at its largest record.
    sent_bytes = 1000 * BLOCKS * (2 * 1024 + 3 * 2048 + 4 * 1024)
    assert plan.sent_gib == pytest.approx(sent_bytes / (1 << 30))


def test_own_brokers_cost_a_start_for_each_part_and_a_restart_before_each_repetition_of_their_settings() -> None:
    def duration_s(brokers: int | None, factor: str, levels: list[int]) -> float:
        content = {"testbed": {"brokers": brokers}} if brokers else {}
        study = comparison(tables=[{"factor": factor, "levels": levels}], grid=None, **content)
        return plan_comparison(study, ProducerRuntime()).duration_s

    without = duration_s(None, "linger.ms", [0, 5])
    started = duration_s(3, "linger.ms", [0, 5])
    restarted = duration_s(3, "num.io.threads", [1, 8])
    assert without < started < restarted
    assert restarted - started == pytest.approx(2 * BLOCKS * 3 * 10.5)
    assert duration_s(6, "num.io.threads", [1, 8]) - started == pytest.approx(2 * (restarted - started))


def test_parts_with_one_reference_are_sized_once() -> None:
    steady = {"kind": "steady", "seconds": 2.0, "repetitions": BLOCKS, "order": "blocks"}
    study = comparison(protocol=steady)
    assert study.sized_like("grid") == "compression_type"
    driver = ProducerRuntime()
    alone = [plan_comparison(with_overrides(study, [case]), driver).duration_s for case in ("compression_type", "grid")]
    together = plan_comparison(with_overrides(study, ["compression_type", "grid"]), driver).duration_s
    assert together < sum(alone)


SAMPLE = '{"timestamp_ms": 1, "key": "k", "value": "012345678"}\n' * 3
SAMPLED = {
    "workload": {"sample": "orders.jsonl"},
    "reference": {"record.size": 10, "payload": "sample"},
    "tables": [{"factor": "compression.type", "levels": ["none", "lz4"]}],
    "grid": None,
    "protocol": {"repetitions": 3},
}


def test_levels_may_send_sampled_records(tmp_path: Path) -> None:
    study = comparison(**SAMPLED)
    (load,) = {study.load_of("compression_type", level) for level in study.levels_of("compression_type")}
    assert load == ProducerLoad(10, SampledPayload(sample="orders.jsonl"))
    assert (study.text_file(), study.text_key) == ("orders.jsonl", "workload.sample")
    assert study.fault_of_text(SAMPLE) == ""
    campaign = designed(tmp_path, study)
    campaign.store.put(campaign.keys.payload(), SAMPLE.encode())
    with payload_files(campaign) as files:
        file = files.file_of(load)
        assert file is not None
        assert file.read_text(encoding="utf-8") == SAMPLE


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            SAMPLE.replace("8", "89"),
            "a record has 11 bytes on average, so record.size must be 11 with payload sample, not 10",
        ),
        ("rows", "line 1"),
    ],
)
def test_a_sample_of_another_size_or_form_is_refused(text: str, fault: str) -> None:
    assert fault in comparison(**SAMPLED).fault_of_text(text)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"workload": {}}, "payload sample needs workload.sample, the file of sampled records"),
        ({"reference": {"record.size": 10}}, "workload.sample is not sent: no level has payload sample"),
        ({"workload": {"sample": "/etc/passwd"}}, "must lie in the study's folder or below"),
        (
            {"protocol": {"kind": "steady", "load_tool": "kafka_perf_test", "repetitions": 3, "seconds": 2}},
            "payload sample needs protocol.load_tool load_generator",
        ),
    ],
)
def test_a_sample_that_cannot_be_sent_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(StudyError, match=re.escape(message)):
        comparison(**SAMPLED | changes)
