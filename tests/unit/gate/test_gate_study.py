from __future__ import annotations

import pytest

from kafka_pareto.errors import BadInputError, StudyError
from kafka_pareto.gate.gate_study import candidate_of, conditions_of, gate_study, levels_of
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.study.study_file import dump_study, parse_study
from kafka_pareto.study.tune import Tune, tune_study
from tests.unit.deciding import CASE
from tests.unit.gate.made_gate import CANDIDATE, REFERENCE, study_with
from tests.unit.measuring import quick

pytestmark = pytest.mark.fast


def of(reference: dict[str, PropertyValue], candidate: dict[str, PropertyValue], **changes: object) -> Tune:
    return gate_study(tune_study(quick(record_sizes_bytes=[int(CASE)], **changes)), reference, candidate)


def test_the_factors_are_what_the_candidate_changes_the_reference_first() -> None:
    study = study_with()
    assert dict(study.baseline_configuration()) == {"compression.type": "none", "linger.ms": 5}
    assert candidate_of(study).configuration == {"compression.type": "lz4", "linger.ms": 20}
    assert study.properties(candidate_of(study).configuration) | CANDIDATE == study.properties(
        candidate_of(study).configuration
    )


def test_a_setting_that_only_the_reference_has_falls_back_to_its_default() -> None:
    study = of({"batch.size": 65536, "partitioner.ignore.keys": True}, {"linger.ms": 20})
    assert candidate_of(study).configuration == {
        "batch.size": 16384,
        "linger.ms": 20,
        "partitioner.ignore.keys": "false",
    }


def test_the_study_of_a_gate_is_read_back_as_an_equal_one() -> None:
    study = study_with()
    assert parse_study(dump_study(study), "study.yaml") == study


def test_rules_and_advice_of_the_search_do_not_bind_two_files() -> None:
    study = of({"batch.size": 1024}, {"batch.size": 2048}, constraints=["batch.size >= record.size"])
    assert study.constraints == []


def test_a_study_that_always_compares_advice_has_a_gate_too() -> None:
    changes = {"advice": True, "confirmation": {"compare_advice": "always"}}
    assert of({"linger.ms": 5}, {"linger.ms": 9}, **changes).advice is False


def test_equal_settings_are_refused() -> None:
    with pytest.raises(BadInputError, match="same settings as the reference"):
        of({"linger.ms": 5}, {"acks": "all"})


def test_a_weaker_durability_is_refused_unless_the_study_accepts_it() -> None:
    with pytest.raises(BadInputError, match="its durability is acks_1, weaker than acks_all_idempotent"):
        of(REFERENCE, {"acks": "1"})
    assert of({"acks": "1"}, {"acks": "1", "linger.ms": 9}).durability_of({}).name == "acks_1"
    accepted = of(REFERENCE, {"acks": "1"}, durability="acks_1")
    assert candidate_of(accepted).configuration == {"acks": "1", "enable.idempotence": "false"}


def test_by_default_no_mean_may_be_worse_by_the_margin_of_harm() -> None:
    study = tune_study(quick(confirmation={"harm_margin_fraction": 0.2}))
    assert [str(each) for each in conditions_of(study)] == [
        "p95_latency_ms < 1.2 * reference",
        "throughput_mib_s > 0.8 * reference",
    ]


def test_all_conditions_all_cases_and_the_tests_for_failures_share_five_percent() -> None:
    study = study_with("p95_latency_ms < reference", "latency_cv < 2 * reference", sizes=(1024, 8192))
    levels = levels_of(study)
    assert sum(levels) * 2 == pytest.approx(0.05)
    assert levels[1] == pytest.approx(levels[0] / 10)
    assert levels[2] == levels[0]


def test_too_few_blocks_for_the_conditions_are_refused() -> None:
    with pytest.raises(StudyError, match=r"gate\.blocks: 4: must be at least \d to decide 2 conditions"):
        study_with(blocks=4, sizes=(1024, 8192))


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("latency_cv < 0.5", "latency_cv < 0.5: a CV across repetitions can only be compared with the reference's"),
        ("cpu_s_per_thousand_events < 2", "is not an objective of the driver producer"),
        ("speed > 2", "speed is not an objective"),
    ],
)
def test_a_condition_that_the_study_cannot_decide_is_refused_in_its_file(condition: str, message: str) -> None:
    with pytest.raises(StudyError, match=message):
        quick(gate={"conditions": [condition]})
