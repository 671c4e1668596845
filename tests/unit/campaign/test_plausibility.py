"""Repetitions whose values contradict each other."""

from __future__ import annotations

import math
from typing import Any

import pytest

from kafka_pareto.campaign.plausibility import PlausibilityRules
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.campaign.suites import Expectation
from kafka_pareto.campaign.tables import repetition_row
from kafka_pareto.errors import BadInputError
from kafka_pareto.study.study_file import load_study
from tests.recorded import STUDIES, paper_study, recorded_repetitions

pytestmark = pytest.mark.fast

CASE = "8192"


def recorded() -> Repetition:
    return recorded_repetitions((CASE,), configurations=0, blocks=1, phase="choice")[0]


@pytest.mark.parametrize(
    ("change", "reason", "rules"),
    [
        ({"latency_p95_ms": 1e6}, "the p95 latency is above p99", ["p95_within_p99"]),
        (
            {"latency_p95_ms": None},
            "latency_p95_ms is missing, although the repetition counts as valid",
            ["measured"],
        ),
        (
            {"throughput_mib_s": float("nan")},
            "throughput_mib_s is missing, although the repetition counts as valid",
            ["measured"],
        ),
        (
            {"throughput_mib_s": 1e4},
            "throughput_mib_s (from records per second) contradicts the printed MB/sec",
            ["throughput_of_records", "throughput_units"],
        ),
        (
            {"throughput_mib_s": 9.0, "printed_mib_s": None},
            "throughput_mib_s contradicts the records per second",
            ["measured_by_the_load_tool", "throughput_of_records"],
        ),
        (
            {"end_offset_growth": 999},
            "the growth of the topic's end offsets differs from the number of records requested",
            ["all_records_arrived"],
        ),
    ],
)
def test_implausible_values_count_as_failed_with_the_rules_that_they_break(
    change: dict[str, Any], reason: str, rules: list[str]
) -> None:
    judged = PlausibilityRules(paper_study()).with_implausible_failed(recorded().with_values(change))

    assert judged.outcome == "failed"
    assert reason in judged.reason
    assert judged.broken_rules == rules
    assert judged.quantities == recorded().quantities | change


@pytest.mark.parametrize(
    ("expectation_type", "kwargs", "told"),
    [
        (
            "expect_column_values_to_match_regex",
            {"column": "window"},
            "expect_column_values_to_match_regex: must be one",
        ),
        ("expect_column_values_to_be_between", {"column": "wall_s", "mostly": 0.9}, "mostly: is not supported"),
        (
            "expect_column_pair_values_a_to_be_greater_than_b",
            {"column_A": "wall_ms", "column_B": "elapsed_ms", "or_equal": False},
            "or_equal: False: must be True",
        ),
    ],
)
def test_a_rule_that_would_be_judged_otherwise_than_by_great_expectations_is_refused_before_anything_is_measured(
    expectation_type: str, kwargs: dict[str, Any], told: str
) -> None:
    rule = Expectation(name="odd", type=expectation_type, kwargs=kwargs, reason="is odd")
    with pytest.raises(BadInputError, match=f"critical rule odd of valid_repetitions: .*{told}"):
        PlausibilityRules(paper_study(), [rule])


@pytest.mark.parametrize(
    "change",
    [
        {"produce_throttle_max_ms": 12.0, "cpu_steal_fraction": 0.5},
        *(
            {"outcome": outcome, "end_offset_growth": 999, "reason": "1 of 1000"}
            for outcome in ("records_lost", "records_duplicated", "failed")
        ),
    ],
)
def test_a_warning_fails_nothing_and_invalid_repetitions_keep_their_outcome_and_reason(
    change: dict[str, Any],
) -> None:
    asked = recorded().with_values(change)
    assert PlausibilityRules(paper_study()).with_implausible_failed(asked) == asked


def test_the_load_generators_figures_are_asked_of_the_load_generator_alone() -> None:
    study = load_study(STUDIES / "steady.yaml")
    judged = PlausibilityRules(study).with_implausible_failed(recorded())
    assert set(judged.broken_rules) == {"measured_by_the_load_tool", "measured_within_the_run"}


def test_missing_values_make_derived_values_unknown() -> None:
    nothing = {name: None for name, value in recorded().quantities.items() if isinstance(value, float | int)}
    values = paper_study().derived_values(repetition_row(recorded().with_values(nothing)))
    assert {name for name, value in values.items() if not math.isnan(value)} == {"wall_ms"}
