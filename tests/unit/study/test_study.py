"""Study files: the shipped ones load, good ones load, and each bad one is refused for its one defect."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import yaml

from kafka_pareto.errors import BadInputError, StudyError
from kafka_pareto.kafka.known_properties import Durability
from kafka_pareto.kafka.properties_file import properties_lines
from kafka_pareto.study.compare import compare_study
from kafka_pareto.study.overrides import overrides_of, read_baseline, with_overrides
from kafka_pareto.study.retune import Retune
from kafka_pareto.study.study_file import dump_study, load_named_study, load_study, parse_study, read_corpus
from kafka_pareto.study.warm_start import WarmStart, campaigns_from
from tests.recorded import FIXTURES, STUDIES, paper_study

pytestmark = pytest.mark.fast

SHIPPED = sorted(STUDIES.glob("*.yaml"))
GOOD_FOLDER = FIXTURES / "studies" / "good"
GOOD = sorted(GOOD_FOLDER.glob("*.yaml"))
BAD = sorted((FIXTURES / "studies" / "bad").glob("*.yaml"))


@pytest.mark.parametrize("path", [*SHIPPED, *GOOD], ids=lambda path: path.stem)
def test_good_study_loads_and_survives_being_frozen(path: Path):
    study = load_study(path)

    assert parse_study(dump_study(study), "frozen") == study


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_bad_study_is_refused_with_file_key_value_and_rule(path: Path):
    expected = path.read_text().splitlines()[0].removeprefix("# expect: ")

    with pytest.raises(StudyError) as refused:
        load_study(path)

    assert len(refused.value.problems) == 1
    assert expected in str(refused.value)
    assert str(refused.value).startswith(f"{path}: ")


def test_merge_keys_of_yaml_are_read() -> None:
    text = (STUDIES / "quick.yaml").read_text(encoding="utf-8")
    merged = text.replace("retune: {", "retune: {<<: {approval: true}, ")
    assert parse_study(merged, "mine").retune == Retune(schedule="0 4 * * 0", blocks=5, approval=True)


@pytest.mark.parametrize(
    ("constraints", "is_possible"),
    [
        (["batch.size < linger.ms", "linger.ms < send.buffer.bytes"], True),  # though at no corner of all three
        (["batch.size == linger.ms"], True),
        (["batch.size > 60000"], False),
        (["batch.size > send.buffer.bytes"], True),
        (["batch.size > receive.buffer.bytes"], False),
        (["batch.size == receive.buffer.bytes"], False),
    ],
)
def test_a_study_is_refused_only_if_a_constraint_cannot_be_satisfied(constraints: list[str], is_possible: bool) -> None:
    content = yaml.safe_load((STUDIES / "quick.yaml").read_text(encoding="utf-8"))
    same = {"type": "integer", "low": 33_000, "high": 50_000}
    content["factors"] = {"batch.size": same, "linger.ms": same | {"low": 34_000}, "send.buffer.bytes": same}
    content["factors"]["receive.buffer.bytes"] = same | {"low": 60_000, "high": 70_000}
    baseline = {"batch.size": 33_000, "linger.ms": 34_000, "send.buffer.bytes": 35_000, "receive.buffer.bytes": 60_000}
    content |= {"constraints": constraints, "advice": False, "baseline": baseline}
    text = yaml.safe_dump(content)
    if is_possible:
        parse_study(text, "mine")
        return
    with pytest.raises(StudyError, match="no configuration satisfies"):
        parse_study(text, "mine")


def test_paper_is_the_published_study_completed_as_documented():
    study = paper_study()
    protocol, workload = study.protocol, study.workload
    assert math.prod(len(factor.levels or []) for factor in study.factors.values()) == 540
    assert (protocol.order, protocol.cool_down_s, protocol.repetitions, protocol.records) == ("sequential", 5, 10, 1000)
    assert (workload.topic_partitions, workload.replication_factor, workload.min_insync_replicas) == (3, 3, 2)
    assert (workload.payload, study.seed) == ("random", 42)
    assert dict(study.baseline_configuration()) == {
        "batch.size": 16384,
        "linger.ms": 5,
        "acks": "all",
        "compression.type": "none",
    }


def test_a_users_properties_become_the_baseline_without_addresses_or_credentials():
    study = load_study(GOOD_FOLDER / "baseline_from_properties.yaml")

    assert study.baseline == {"acks": "all", "batch.size": 32768, "linger.ms": 20, "compression.type": "lz4"}
    assert "secret" not in dump_study(study)


def test_a_baselines_file_without_a_setting_of_the_producer_is_refused(tmp_path: Path):
    text = (GOOD_FOLDER / "baseline_from_properties.yaml").read_text(encoding="utf-8")
    (tmp_path / "users_producer.properties").write_text("spring.kafka.consumer.group-id=g\n", encoding="utf-8")
    with pytest.raises(StudyError, match=r"baseline: .*: has no tunable property of Kafka's producer"):
        parse_study(text, "mine", tmp_path)


@pytest.mark.parametrize(
    ("properties", "durability"),
    [
        ({"acks": "0"}, Durability.acks_0),
        ({"acks": "1"}, Durability.acks_1),
        ({"acks": "all"}, Durability.acks_all_idempotent),
        ({"acks": "all", "max.in.flight.requests.per.connection": 10}, Durability.acks_all),
        ({"acks": "all", "enable.idempotence": "false"}, Durability.acks_all),
    ],
)
def test_durability_follows_from_acks_and_resolved_idempotence(properties: dict[str, str], durability: Durability):
    assert paper_study().durability_of(properties) == durability


def test_a_study_accepts_its_baselines_durability_and_turns_idempotence_off_without_acks_all():
    told = paper_study().properties({"acks": "1", "linger.ms": 0})
    assert told == {"acks": "1", "linger.ms": 0, "enable.idempotence": False}
    assert load_named_study(STUDIES, "quick").weakest_durability() == Durability.acks_all_idempotent
    assert paper_study().weakest_durability() == Durability.acks_0


def test_a_pause_and_a_baseline_are_overrides_that_are_named_with_the_files_values():
    file = load_study(GOOD_FOLDER / "baseline_from_properties.yaml")
    study = with_overrides(file, cool_down_s=0.5, baseline={"linger.ms": 20})
    assert (study.protocol.cool_down_s, study.baseline) == (0.5, {"linger.ms": 20})
    of_file = ", ".join(f"{name}={value}" for name, value in file.baseline.items())
    assert [str(each) for each in overrides_of(file, study)] == [
        f"baseline linger.ms=20 (file: {of_file})",
        "protocol.cool_down_s 0.5 (file: 0)",
    ]
    assert overrides_of(file, file) == []
    with pytest.raises(StudyError, match=r"protocol\.cool_down_s: -1.0: Input should be greater"):
        with_overrides(file, cool_down_s=-1.0)
    with pytest.raises(StudyError, match=r"batch\.sise is not a tunable property"):
        with_overrides(file, baseline={"batch.sise": 1})


def test_overrides_are_checked_like_a_file_and_every_one_is_named():
    paper = paper_study()
    study = with_overrides(paper, ["8192"], seed=7, repetitions=3)
    assert (study.cases, study.seed, study.protocol.repetitions) == (["8192"], 7, 3)
    assert [str(each) for each in overrides_of(paper, study)] == [
        "seed 7 (file: 42)",
        "record_sizes_bytes 8192 (file: 1024, 8192, 10240, 16383, 65636)",
        "protocol.repetitions 3 (file: 10)",
        "protocol.minimum_valid_repetitions 3 (file: 10)",
    ]
    with pytest.raises(StudyError, match=r"protocol\.repetitions: 0: Input should be greater"):
        with_overrides(paper, repetitions=0)


def test_a_table_in_place_of_a_comparisons_parts_is_named_without_its_missing_keys():
    file = compare_study(load_study(STUDIES / "impact.yaml"))
    study = with_overrides(file, table=file.table_of("linger.ms", ["0", "10"]))
    (tables,) = [str(each) for each in overrides_of(file, study) if each.key == "tables"]
    assert tables.startswith("tables factor=linger.ms, levels=0, 10 (file: factor=acks, levels=1, all, published=")
    assert "; factor=batch.size, levels=16384, 65536, " in tables


def test_a_baselines_text_is_read_as_java_reads_it_and_addresses_and_classes_are_skipped():
    text = "bootstrap.servers=a:9092\nkey.serializer=x\n! note\nlinger.ms : 20\nacks=-1\nenable.idempotence=true\n"
    found = read_baseline(text, "baseline").used
    assert found == {"linger.ms": 20, "acks": "all", "enable.idempotence": True}
    assert read_baseline(properties_lines(found), "baseline").used == found


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("linger.ms=1\nsasl.jaas.config=hidden", "mine: sasl.jaas.config: may hold a secret"),
        ("ssl.key.password=hidden", "mine: ssl.key.password: may hold a secret"),
        ("sas\\u006c.jaas.config=hidden", "mine: sasl.jaas.config: may hold a secret"),
        ("basic.auth.user.info=hidden", "mine: basic.auth.user.info: may hold a secret"),
        ("SSL.Keystore.Password=hidden", "mine: SSL.Keystore.Password: may hold a secret"),
        ("linger.ms=1\nconfluent.api.key=hidden", "mine: confluent.api.key: may hold a secret"),
        ("linger.ms=1\nprivate-key=hidden", "mine: private-key: may hold a secret"),
        ("linger.ms=soon", "mine: linger.ms: 'soon' must be a whole number"),
        ("acks=2", "mine: acks: '2' must be one of 0, 1, all"),
        ("bootstrap.servers=a:9092", "mine: has no tunable property"),
        ("", "mine: has no tunable property"),
        ("\\u00", r"mine: a \\u must be followed"),
    ],
)
def test_a_baselines_text_that_cannot_be_used_is_refused_without_showing_a_secret(text: str, rule: str):
    with pytest.raises(BadInputError, match=rule) as refused:
        read_baseline(text, "mine")
    assert "hidden" not in str(refused.value)


def test_a_warm_start_is_an_override_that_keeps_the_half_life_and_that_one_shot_refuses():
    study = load_study(GOOD_FOLDER / "rounds_and_limits.yaml")
    warm = with_overrides(study, warm_start=campaigns_from("latest")).warm_start
    assert warm == WarmStart(campaigns="latest", half_life_days=14)
    cold_burst = load_named_study(STUDIES, "cold_burst")
    assert with_overrides(cold_burst, warm_start=campaigns_from("c1,c2")).warm_start == WarmStart(
        campaigns=["c1", "c2"]
    )

    with pytest.raises(StudyError, match="warm_start needs strategy: rounds"):
        with_overrides(paper_study(), warm_start="latest")
    with pytest.raises(StudyError, match=r"warm_start\.campaigns: .* must be latest, or a list of different"):
        with_overrides(cold_burst, warm_start=campaigns_from("c1,../up"))


def test_fewer_repetitions_end_adaptive_ones_and_are_refused_only_if_no_trial_could_have_a_cv():
    adaptive = load_study(GOOD_FOLDER / "adaptive_and_noise.yaml")
    assert adaptive.protocol.adaptive is not None
    assert with_overrides(adaptive, repetitions=4).protocol.adaptive == adaptive.protocol.adaptive
    for few in (2, 3):
        protocol = with_overrides(adaptive, repetitions=few).protocol
        assert (protocol.repetitions, protocol.minimum_valid_repetitions, protocol.adaptive) == (few, few, None)
    assert with_overrides(load_named_study(STUDIES, "steady"), repetitions=1).protocol.repetitions == 1
    assert load_named_study(STUDIES, "cold_burst").protocol.repetitions == 1
    with pytest.raises(StudyError, match="must not exceed repetitions 1; no trial would ever have a CV"):
        with_overrides(paper_study(), repetitions=1)


def test_a_text_to_cut_records_from_may_hold_16_mib(tmp_path: Path):
    study = load_study(GOOD_FOLDER / "payload_from_a_file.yaml")
    (tmp_path / "log_lines.txt").write_bytes(b"x" * (16 << 20))
    assert len(read_corpus(study, tmp_path, "study.yaml") or "") == 16 << 20

    (tmp_path / "log_lines.txt").write_bytes(b"x" * ((16 << 20) + 1))
    with pytest.raises(StudyError, match=r"study\.yaml: workload\.payload\.file: .*log_lines\.txt: must not be larger"):
        read_corpus(study, tmp_path, "study.yaml")


def test_a_study_that_is_not_there_names_those_that_are():
    known = ", ".join(sorted(file.stem for file in STUDIES.glob("*.yaml")))
    with pytest.raises(StudyError, match=f"quik: there is no such study; there are {known}"):
        load_named_study(STUDIES, "quik")
    with pytest.raises(StudyError, match="no such study"):
        load_named_study(STUDIES, "../studies/quick")
