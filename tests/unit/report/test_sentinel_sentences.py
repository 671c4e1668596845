from __future__ import annotations

import pytest

from kafka_pareto.analysis.sentinel import SentinelReport, SeriesStability
from kafka_pareto.report.card_context import move_sentences, sentinel_sentences

pytestmark = pytest.mark.fast

QUIET = SeriesStability(
    objective="p95_latency_ms",
    first_run_change_fraction=1.5,
    first_run_p_value_holm=1.0,
    drift_tau=0.456,
    drift_p_value_holm=1.0,
    change_after=18,
    change_repetition_id="b018",
    change_fraction=0.4,
    change_p_value_holm=1.0,
)
THROUGHPUT = QUIET.model_copy(update={"objective": "throughput_mib_s"})


def report_of(*series: SeriesStability, repetitions: int = 30) -> SentinelReport:
    return SentinelReport(repetition_ids=[f"b{at:03d}" for at in range(repetitions)], series=list(series))


def test_a_steady_sentinel_is_not_said_to_be_stable_only_that_no_move_shows() -> None:
    report = report_of(QUIET, THROUGHPUT)
    assert sentinel_sentences(report) == [
        "Baseline p95 latency: no significant change in 30 repetitions.",
        "Baseline throughput: no significant change in 30 repetitions.",
    ]
    assert move_sentences(report) == []


def test_a_step_is_reported_with_its_place_and_size_and_only_the_series_that_moved_is_a_move() -> None:
    stepped = QUIET.model_copy(update={"change_p_value_holm": 0.0012, "drift_p_value_holm": 0.01})
    said = "Baseline p95 latency rose by 40 % after 18 of 30 repetitions (p 0.001)."
    report = report_of(stepped, THROUGHPUT)
    assert sentinel_sentences(report) == [
        said,
        "Baseline throughput: no significant change in 30 repetitions.",
    ]
    assert move_sentences(report) == [said]


@pytest.mark.parametrize(("tau", "moved"), [(0.456, "rose"), (-0.456, "fell")])
def test_a_drift_is_reported_with_its_direction(tau: float, moved: str) -> None:
    drifted = QUIET.model_copy(update={"drift_p_value_holm": 0.01, "drift_tau": tau})
    assert move_sentences(report_of(drifted)) == [
        f"Baseline p95 latency {moved} over the 30 repetitions (Kendall's tau {tau:+.2f}, p 0.010)."
    ]


def test_a_slow_first_repetition_is_reported_but_is_not_a_move() -> None:
    report = report_of(QUIET.model_copy(update={"first_run_p_value_holm": 0.02}))
    assert sentinel_sentences(report) == [
        "The baseline's first repetition is an outlier: p95 latency +150 % (p 0.020)."
    ]
    assert move_sentences(report) == []


def test_too_few_repetitions_say_so() -> None:
    assert sentinel_sentences(report_of(repetitions=11)) == ["11 baseline repetitions are too few to judge stability."]
