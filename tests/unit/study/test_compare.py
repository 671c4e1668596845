"""A study's comparison: its parts, their levels, the reference of each, and a campaign's overrides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafka_pareto.comparison.rows import notes
from kafka_pareto.drivers.consumer.studies import CompareConsumer
from kafka_pareto.drivers.producer.compare import CompareProducer
from kafka_pareto.errors import BadInputError, StudyError
from kafka_pareto.steps.compare import compared_part
from kafka_pareto.study.compare import Compare, compare_study
from kafka_pareto.study.factors import CategoricalFactor, NumericFactor
from kafka_pareto.study.overrides import overrides_of, with_overrides
from kafka_pareto.study.sections import ForeignCluster
from kafka_pareto.study.study_file import dump_study, load_study, parse_study
from kafka_pareto.study.workload import CompressiblePayload
from tests.compared import comparison
from tests.recorded import FIXTURES, paper_study

pytestmark = pytest.mark.fast

GOOD = FIXTURES / "studies" / "good"
ONE_TABLE = {"tables": [{"factor": "linger.ms", "levels": [0, 5, 20]}], "grid": None}


def shipped_good(name: str) -> CompareProducer:
    study = load_study(GOOD / f"compare_{name}.yaml")
    assert isinstance(study, CompareProducer)
    return study


def test_a_study_of_ones_own_takes_at_most_twelve_lines() -> None:
    lines = (GOOD / "compare_in_twelve_lines.yaml").read_text().splitlines()
    assert len(lines) <= 12
    study = shipped_good("in_twelve_lines")
    assert (study.cases, study.protocol.repetitions) == (["linger_ms"], 5)


CONSUMERS = """\
schema_version: 1
kind: compare
driver: consumer
name: mine
description: Polls.
reference: application.yml
tables:
  - {factor: max.poll.records, levels: [500, 2000]}
"""


def test_a_comparisons_reference_may_be_the_settings_file_of_its_client(tmp_path: Path) -> None:
    (tmp_path / "application.yml").write_text(
        "spring.kafka.consumer.max-poll-records: 2000\nspring.kafka.consumer.enable-auto-commit: false\n"
        "spring.kafka.consumer.auto-offset-reset: latest\nspring.kafka.producer.acks: '1'\n"
    )
    consumers = parse_study(CONSUMERS, "mine", tmp_path)
    assert isinstance(consumers, CompareConsumer)
    assert consumers.properties({}) == {"max.poll.records": 2000, "enable.auto.commit": "false"}
    assert parse_study(dump_study(consumers), "frozen") == consumers
    text = CONSUMERS.replace("consumer", "producer").replace("max.poll.records, levels: [500", "linger.ms, levels: [5")
    assert compare_study(parse_study(text, "mine", tmp_path)).reference == {"acks": "1"}


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("interceptor.classes=a.B", "interceptor.classes: the load generator cannot run your interceptors"),
        (
            "session.timeout.ms=3000",
            "heartbeat.interval.ms 3000 must be below session.timeout.ms 3000; otherwise Kafka's",
        ),
        (
            "linger.ms=5",
            "has no tunable property of Kafka's consumer, such as max.poll.records=1000; linger.ms is a setting of",
        ),
        (
            "max.poll.recrds=5",
            "has no .*; max.poll.recrds is not a tunable setting of Kafka's consumer; did you mean max.poll.records?",
        ),
    ],
)
def test_a_reference_file_that_cannot_be_measured_is_refused_by_its_name(tmp_path: Path, line: str, rule: str) -> None:
    (tmp_path / "application.yml").write_text(f"{line}\n")
    with pytest.raises(StudyError, match=rf"mine: reference: .*application\.yml: {rule}"):
        parse_study(CONSUMERS, "mine", tmp_path)


def test_a_part_is_called_like_its_factor_with_underscores_unless_it_has_a_name() -> None:
    assert comparison().cases == ["compression_type", "record_size", "grid"]
    assert shipped_good("fixed_payloads").cases == ["letters", "text", "zeros", "record_size", "producers"]
    assert shipped_good("grid").cases == ["batching"]


def test_a_tables_levels_differ_from_the_reference_in_its_factor_alone_and_a_grid_has_every_combination() -> None:
    study = comparison()
    reference, other = study.levels_of("compression_type")
    assert reference == study.baseline_configuration("compression_type") == study.baseline_configuration()
    assert {name for name in reference if reference[name] != other[name]} == {"compression.type"}
    found = [(each["batch.size"], each["linger.ms"]) for each in study.levels_of("grid")]
    assert found == [(16384, 0), (16384, 5), (65536, 0), (65536, 5)]


def test_settings_fixed_by_a_part_apply_only_to_its_levels_and_its_reference() -> None:
    study = comparison()
    assert {each["payload"] for each in study.levels_of("record_size")} == {"text"}
    assert study.baseline_configuration("record_size")["payload"] == "text"
    assert study.baseline_configuration("grid")["payload"] == "random"
    assert study.baseline_id("record_size") != study.baseline_id("grid") == study.baseline_id("compression_type")


def test_everything_that_any_part_varies_or_fixes_is_a_factor_with_all_of_its_values() -> None:
    assert comparison().varied_factors == {
        "compression.type": CategoricalFactor(type="categorical", levels=["none", "lz4"]),
        "payload": CategoricalFactor(type="categorical", levels=["random", "text"]),
        "record.size": NumericFactor(type="integer", levels=[512, 1024, 2048]),
        "batch.size": NumericFactor(type="integer", levels=[16384, 65536]),
        "linger.ms": NumericFactor(type="integer", levels=[0, 5]),
    }


def test_a_producer_gets_the_values_of_the_reference_or_the_level_and_no_default() -> None:
    study = comparison()
    told = study.properties(study.levels_of("compression_type")[1])
    assert told == {
        "acks": "1",
        "batch.size": 65536,
        "compression.type": "lz4",
        "linger.ms": 5,
        "enable.idempotence": False,
    }
    assert "buffer.memory" not in told
    assert study.effective({})["buffer.memory"] == 33554432


def test_the_sent_records_follow_from_the_level() -> None:
    study = shipped_good("fixed_payloads")
    zeros = study.load_of("zeros", study.levels_of("zeros")[1])
    assert (zeros.record_size_bytes, zeros.payload, zeros.made_payload, zeros.producers) == (100, "zeros", "zeros", 1)
    text = study.load_of("text", study.levels_of("text")[0])
    assert (text.record_size_bytes, text.payload) == (1024, CompressiblePayload(compressed_fraction=0.3))
    assert [study.load_of("producers", each).producers for each in study.levels_of("producers")] == [1, 2, 10]
    assert study.largest_record_bytes("record_size") == 65536


def test_parts_with_the_same_reference_share_the_sizing_of_the_first() -> None:
    study = comparison()
    assert [study.sized_like(case) for case in study.cases] == ["compression_type", "record_size", "compression_type"]


def test_own_brokers_get_their_properties_and_those_of_the_reference_and_the_level() -> None:
    study, of_clients = shipped_good("broker_settings"), comparison()
    common = {"num.partitions": 3, "auto.create.topics.enable": "false", "num.io.threads": 4, "num.network.threads": 3}
    both = ("socket.send.buffer.bytes", "socket.receive.buffer.bytes")
    slow, fast = (study.broker_properties(each) for each in study.levels_of("socket_buffer_bytes"))
    assert (slow, fast) == (common | dict.fromkeys(both, 102400), common | dict.fromkeys(both, 1048576))
    assert "num.io.threads" not in study.properties(study.baseline_configuration())
    assert all(study.varies_brokers(case) for case in study.cases)
    assert not any(of_clients.varies_brokers(case) for case in of_clients.cases)


def test_a_campaign_of_some_parts_has_these_alone_and_says_so() -> None:
    study = comparison()
    keys = study.keys_of_cases(["grid", "record_size"])
    assert [table["factor"] for table in keys["tables"]] == ["record.size"]  # type: ignore[union-attr,index,call-overload]
    assert keys["grid"] is not None
    assert study.keys_of_cases(["compression_type"])["grid"] is None
    with pytest.raises(
        BadInputError, match="parts: 'codec': is not a part of study impact_small; its parts are compression_"
    ):
        study.keys_of_cases(["codec"])
    some = with_overrides(study, ["grid"], repetitions=4)
    assert (some.cases, some.protocol.repetitions) == (["grid"], 4)
    shown = {each.key: str(each) for each in overrides_of(study, some)}
    assert shown["parts"] == f"parts grid (file: {', '.join(study.cases)})"
    assert not shown.keys() & {"tables", "variants", "series", "grid"}
    assert some.baseline_id("grid") != study.baseline_id("grid"), "factors that no part varies are no part of an id"


def test_a_table_from_the_command_line_takes_the_place_of_all_parts_with_the_references_level() -> None:
    study = comparison()
    assert study.table_of("linger.ms", ["0", "20"]) == {"factor": "linger.ms", "levels": [5, 0, 20]}
    assert study.table_of("acks", ["1", "all"]) == {"factor": "acks", "levels": ["1", "all"]}
    one = with_overrides(study, table=study.table_of("linger.ms", ["0", "5", "20"]))
    assert one.cases == ["linger_ms"]
    assert [each["linger.ms"] for each in one.levels_of("linger_ms")] == [0, 5, 20]


@pytest.mark.parametrize(
    ("table", "overrides", "rule"),
    [
        (("linger", "0"), {}, "factor: linger: is not a setting of the driver producer; did you mean linger.ms?"),
        (("linger.ms", "0", "soon"), {}, "study impact_small: linger.ms: 'soon': must be a whole number"),
        (("acks", "1", "2"), {}, "study impact_small: acks: '2': must be one of 0, 1, all"),
        (("num.io.threads", "1"), {}, r"num\.io\.threads: is a broker's setting; it needs testbed"),
        ((), {"repetitions": 2}, r"protocol\.repetitions 2: must be at least 3"),
        ((), {"baseline": {"linger.ms": 20}}, r"baseline: .* is not a key of a study"),
    ],
)
def test_invalid_overrides_are_refused_by_key_value_and_rule(
    table: tuple[str, ...], overrides: dict[str, Any], rule: str
) -> None:
    study = comparison()
    with pytest.raises(BadInputError, match=rule):
        with_overrides(study, table=study.table_of(table[0], table[1:]) if table else None, **overrides)


@pytest.mark.parametrize(
    ("changes", "one_line"),
    [
        (ONE_TABLE, {"factor": "linger.ms", "levels": "0,5,20"}),
        ({}, {}),
        ({"grid": None}, {}),
        ({"tables": [{**ONE_TABLE["tables"][0], "name": "waiting"}], "grid": None}, {}),  # type: ignore[index]
        ({"tables": [{**ONE_TABLE["tables"][0], "fixed": {"acks": "all"}}], "grid": None}, {}),  # type: ignore[index]
        ({"tables": []}, {}),
    ],
)
def test_a_study_of_one_plain_table_fits_on_one_line_and_no_other(
    changes: dict[str, Any], one_line: dict[str, str]
) -> None:
    assert comparison(**changes).one_line_table() == one_line


@pytest.mark.parametrize(
    "table",
    [
        {"factor": "linger.ms", "levels": [0, 5, 20]},
        {"factor": "acks", "levels": [1, "all"]},
        {"factor": "partitioner.ignore.keys", "levels": [True, False]},
        {"factor": "payload", "levels": ["zeros", "random"]},
    ],
)
def test_a_study_of_one_plain_table_is_the_same_by_its_line_as_by_its_file(table: dict[str, Any]) -> None:
    study = comparison(tables=[table], grid=None)
    line = study.one_line_table()
    assert with_overrides(study, table=study.table_of(line["factor"], line["levels"].split(","))) == study


def test_on_an_existing_cluster_no_brokers_of_the_studys_own_start() -> None:
    cluster = ForeignCluster(bootstrap_servers="a:9092", ceiling_mib_s=5, ceiling_gib=1)
    moved = with_overrides(shipped_good("fixed_payloads"), cluster=cluster)
    assert (moved.own_brokers, moved.cluster) == (None, cluster)
    with pytest.raises(StudyError, match=r"num\.network\.threads: is a broker's setting"):
        with_overrides(shipped_good("broker_settings"), cluster=cluster)


def test_a_protocol_without_a_kind_changes_only_the_keys_it_names() -> None:
    default, changed = shipped_good("in_twelve_lines").protocol, shipped_good("other_blocks").protocol
    paced = default.paced.model_copy(update={"rate_fraction": 0.3})
    assert changed == default.model_copy(update={"repetitions": 3, "paced": paced})


def test_the_fixed_rate_is_described_as_it_is_given() -> None:
    study = shipped_good("in_twelve_lines")
    described = study.described_protocol()["at the fixed rate"]
    assert described.endswith("at 50 % of the part's sustainable reference throughput")

    stated = comparison(protocol={"paced": {"rate_records_s": 1_234_567}})
    assert stated.protocol.paced.rate_fraction is None
    assert stated.described_protocol()["at the fixed rate"].endswith("at 1,234,567 records/s")


def test_published_numbers_apply_to_the_levels_in_the_files_order() -> None:
    part = shipped_good("grid").part("batching")
    assert part.published == {"latency_p99_ms": [None, 8, None, 12.5, None, None]}


def test_only_a_study_that_compares_is_taken_for_one() -> None:
    study = comparison()
    assert compare_study(study) is study
    with pytest.raises(BadInputError, match="study paper: kind: 'tune': must be compare here"):
        compare_study(paper_study())


def test_repetitions_are_distinguished_by_brokers_reference_and_topic() -> None:
    def conditions(**changes: Any) -> dict[str, Any]:
        return comparison(**changes).conditions()

    assert conditions() == conditions(description="In other words.", seed=7)
    for changes in (
        {"testbed": {"brokers": 3}},
        {"reference": {"acks": "all", "batch.size": 65536}},
        {"workload": {"topic_partitions": 12}},
    ):
        assert conditions(**changes) != conditions()


@pytest.mark.parametrize("path", sorted(GOOD.glob("compare_*.yaml")), ids=lambda path: path.stem)
def test_every_part_measures_its_reference_once_in_a_block(path: Path) -> None:
    study = load_study(path)
    assert isinstance(study, Compare)
    for case in study.cases:
        assert study.levels_of(case).count(study.baseline_configuration(case)) == 1


def test_variants_set_their_own_values_and_keep_the_others_at_the_reference() -> None:
    study = shipped_good("variants")
    levels = study.levels_of("ways")

    assert levels[0] == study.baseline_configuration("ways")
    found = [(each["linger.ms"], each["acks"], each["batch.size"]) for each in levels]
    assert found == [(20, "1", 16384), (0, "1", 1024), (100, "1", 16384)]


def test_a_part_of_variants_may_be_measured_alone_or_replaced_and_lists_the_values_of_each() -> None:
    study = comparison(variants=[{"name": "ways", "variants": {"ours": {}, "eager": {"linger.ms": 0}}}])
    part = compared_part(study, "ways", [])

    assert study.cases[0] == "ways"
    assert with_overrides(study, cases=["ways"]).cases == ["ways"]
    assert with_overrides(study, table=study.table_of("linger.ms", [0, 20])).cases == ["linger_ms"]
    assert (part.factors, part.reference) == (["variant"], {"variant": "ours"})
    assert [(level.values, level.sets) for level in part.levels] == [
        ({"variant": "ours"}, {}),
        ({"variant": "eager"}, {"linger.ms": 0}),
    ]
    assert "eager: linger.ms 0" in notes(part)
