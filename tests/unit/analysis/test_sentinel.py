from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from kafka_pareto.analysis.gains import SIGNIFICANCE
from kafka_pareto.analysis.sentinel import (
    MINIMUM_REPETITIONS,
    SentinelReport,
    change_point,
    first_run_p_value,
    sentinel_report,
)
from kafka_pareto.campaign.records import Repetition
from tests.recorded import paper_study, recorded_repetitions

pytestmark = pytest.mark.fast

TEMPLATE = recorded_repetitions(("8192",), configurations=0, blocks=1)[0]


def series(p95_ms: np.ndarray, throughput_mib_s: np.ndarray | None = None) -> list[Repetition]:
    throughput = np.random.default_rng(9).normal(20, 1, len(p95_ms)) if throughput_mib_s is None else throughput_mib_s
    return [
        TEMPLATE.with_values(
            {
                "repetition_id": f"b{at:03d}",
                "started_at": f"2026-11-21T10:{at:02d}:00+00:00",
                "latency_p95_ms": float(latency),
                "throughput_mib_s": float(pace),
            }
        )
        for at, (latency, pace) in enumerate(zip(p95_ms, throughput, strict=True))
    ]


def steady(number: int = 30, seed: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).normal(100, 10, number)


def report_of(repetitions: list[Repetition]) -> SentinelReport:
    return sentinel_report(repetitions, paper_study(), np.random.default_rng(1))


def test_a_step_is_found_where_it_is_with_its_size():
    values = steady()
    values[18:] *= 1.4
    report = report_of(series(values))
    assert report.moved
    latency, throughput = report.series
    assert latency.change_after == pytest.approx(18, abs=1)
    assert latency.change_repetition_id == f"b{latency.change_after:03d}"
    assert latency.change_fraction == pytest.approx(0.4, abs=0.08)
    assert not throughput.moved


def test_slow_drift_is_found_and_a_steady_sentinel_shows_no_move():
    report = report_of(series(steady() * np.linspace(1, 1.5, 30)))
    assert report.moved
    assert report.series[0].drift_tau > 0.4
    still = report_of(series(steady()))
    assert (len(still.series), still.moved) == (2, False)


def test_a_slow_first_repetition_is_found_but_is_not_a_move():
    values = steady()
    values[0] = 250
    report = report_of(series(values))
    assert not report.moved
    assert report.series[0].first_run_change_fraction == pytest.approx(1.5, abs=0.2)
    assert report.series[0].first_run_p_value_holm < SIGNIFICANCE
    assert report.series[0].first_run_p_value_holm == pytest.approx(6 * first_run_p_value(values))  # of six, the least


def test_a_first_value_that_alone_differs_has_the_p_value_of_its_place() -> None:
    assert first_run_p_value(np.array([40.0, *[3.0] * 24])) == 1 / 25
    assert first_run_p_value(np.full(25, 3.0)) == 1.0


def test_permutations_in_batches_give_the_same_p_value_and_leave_the_same_random_numbers() -> None:
    values, rng, whole = steady(40), np.random.default_rng(5), np.random.default_rng(5)
    _, p_value = change_point(values, rng)
    test = stats.permutation_test(
        (stats.rankdata(values),),
        lambda ranks, axis: np.max(
            np.abs(np.cumsum(ranks - np.mean(ranks, axis=axis, keepdims=True), axis=axis)), axis
        ),
        permutation_type="pairings",
        n_resamples=9_999,
        alternative="greater",
        rng=whole,
    )
    assert p_value == test.pvalue
    assert rng.random() == whole.random()


def test_too_few_repetitions_are_named_and_not_tested():
    values = steady(MINIMUM_REPETITIONS - 1)
    values[5:] *= 10
    report = report_of(series(values))
    assert (report.series, report.moved) == ([], False)
    assert len(report.repetition_ids) == 11


def test_only_valid_repetitions_of_the_baseline_count_in_the_order_of_time():
    found = series(steady())
    others = [r.with_values({"is_baseline": False, "latency_p95_ms": 900.0}) for r in found]
    failed = [r.with_values({"outcome": "failed", "latency_p95_ms": None}) for r in found]
    shuffled = [*others, *failed, *found[::-1]]
    assert report_of(shuffled) == report_of(found)


def test_the_recorded_baseline_is_reported_and_the_report_survives_json():
    recorded = recorded_repetitions(("1024", "8192"), configurations=0)  # two record sizes, for the length alone
    report = report_of(recorded)
    assert len(report.repetition_ids) == 20
    assert report.repetition_ids[0] == min(recorded, key=lambda r: r.started_at).repetition_id
    assert SentinelReport.model_validate_json(report.model_dump_json()) == report


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("p95_ms", [np.full(15, 7.0), np.array([0.0, 1.0] * 10)], ids=["equal", "below the resolution"])
def test_latencies_without_spread_or_below_the_tools_resolution_have_not_moved(p95_ms: np.ndarray):
    report = report_of(series(p95_ms, np.full(len(p95_ms), 20.0)))
    assert (report.moved, report.series[1].drift_tau) == (False, 0.0)
    assert SentinelReport.model_validate_json(report.model_dump_json()) == report


def test_a_repetition_without_throughput_is_excluded_rather_than_guessed():
    found = series(steady())
    without = found[3].with_values({"throughput_mib_s": None})
    assert report_of([*found[:3], without, *found[4:]]) == report_of([*found[:3], *found[4:]])


@pytest.mark.slow
def test_exchangeable_values_rarely_show_a_change_point():
    rng = np.random.default_rng(4)
    alarms = sum(change_point(rng.lognormal(0, 0.4, 20), rng)[1] < 0.05 for _ in range(100))
    assert alarms <= 11  # 5 % nominal, and three standard errors
