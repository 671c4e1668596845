"""Objectives that a study may add to those that every study of its driver has."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kafka_pareto.errors import StudyError
from kafka_pareto.study.study_file import parse_study
from kafka_pareto.study.tune import Tune, tune_study
from tests.small_quick import small_quick

pytestmark = pytest.mark.fast

NEEDED = ["p95_latency_ms", "throughput_mib_s", "latency_cv", "throughput_cv"]
STORED = "stored_bytes_per_record"


def study(**changes: Any) -> Tune:
    return tune_study(parse_study(yaml.safe_dump(small_quick() | changes), "study.yaml"))


def test_without_a_word_a_study_has_the_four() -> None:
    assert study().objective_names == tuple(NEEDED)
    assert study().means == ("p95_latency_ms", "throughput_mib_s")


def test_with_an_added_objective_the_search_has_fewer_partitions_unless_stated() -> None:
    assert study().search.reference_partitions == 6
    assert study(objectives=[*NEEDED, STORED]).search.reference_partitions == 4
    stated = study(objectives=[*NEEDED, STORED], search={"reference_partitions": 6})
    assert stated.search.reference_partitions == 6


def test_an_added_objective_is_a_mean_after_the_others_whatever_the_order() -> None:
    found = study(objectives=[STORED, *NEEDED], limits=[f"{STORED} <= 500"])
    assert found.objective_names == (*NEEDED[:2], STORED, *NEEDED[2:])
    assert found.means == ("p95_latency_ms", "throughput_mib_s", STORED)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"objectives": [*NEEDED[:3], STORED]},
            "must name each of p95_latency_ms, .* once, and may add one of stored_bytes",
        ),
        ({"objectives": [*NEEDED, STORED, STORED]}, "must name each of"),
        ({"objectives": [*NEEDED, STORED, "requests_per_thousand_records"]}, "may add one of"),
        ({"objectives": [*NEEDED, "rows_s"]}, "must name each of"),
        ({"limits": [f"{STORED} <= 500"]}, f"limits: {STORED} is not an objective of this study; add it to objectives"),
        ({"limits": ["rows_s >= 5"]}, "limits: rows_s is not an objective of the driver producer; its objectives are"),
    ],
)
def test_what_is_no_objective_of_the_study_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(StudyError, match=said):
        study(**changes)
