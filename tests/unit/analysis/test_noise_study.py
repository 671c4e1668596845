from __future__ import annotations

import re

import numpy as np
import pytest

from kafka_pareto.analysis.gains import level_of
from kafka_pareto.analysis.noise_study import noise_lines, noise_report, spread_of_cv, spread_of_mean
from kafka_pareto.analysis.sequential import half_width
from kafka_pareto.campaign.records import NoiseOfObjective, NoiseReport
from kafka_pareto.storage.record import decode_record
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.study import Study
from tests.recorded import paper_study, recorded_repetitions

pytestmark = pytest.mark.fast

CASE = "8192"


STUDY = paper_study()
REPETITIONS = recorded_repetitions((CASE,), configurations=0, phase="noise")


def of(report: NoiseReport, objective: ObjectiveName) -> NoiseOfObjective:
    return next(noise for noise in report.objectives if noise.objective == objective)


def with_blocks(study: Study, gain_blocks: int) -> Study:
    return study.model_copy(update={"confirmation": study.confirmation.model_copy(update={"gain_blocks": gain_blocks})})


def test_the_report_traces_to_its_repetitions_and_survives_the_store():
    report = noise_report(STUDY, CASE, REPETITIONS)
    assert report.repetition_ids == [r.repetition_id for r in REPETITIONS]
    assert (report.blocks, report.comparisons, report.wanted_effect_fraction) == (10, 20, 0.1)
    assert decode_record(report.model_dump_json().encode(), "noise.json", NoiseReport) == report


def test_detectable_changes_exceed_the_noise_floor_and_throughput_is_the_least_noisy():
    report = noise_report(STUDY, CASE, REPETITIONS)
    for noise in report.objectives:
        assert noise.minimum_detectable_effect_fraction > noise.noise_floor_fraction > 0
    floors = {noise.objective: noise.noise_floor_fraction for noise in report.objectives}
    assert min(floors, key=lambda objective: floors[objective]) == "throughput_mib_s"


def test_the_wanted_effect_is_detectable_with_the_blocks_that_the_report_asks_for():
    for objective in ("p95_latency_ms", "throughput_mib_s", "latency_cv"):
        needed = of(noise_report(STUDY, CASE, REPETITIONS), objective).blocks_for_wanted_effect
        enough = noise_report(with_blocks(STUDY, needed), CASE, REPETITIONS)
        fewer = noise_report(with_blocks(STUDY, needed - 1), CASE, REPETITIONS)
        effects = [of(r, objective).minimum_detectable_effect_fraction for r in (enough, fewer)]
        assert effects[0] == pytest.approx(0.1, abs=0.01)
        assert effects[0] < effects[1]


def test_a_cv_takes_hundreds_of_blocks_for_a_small_change_and_the_report_says_so():
    report = noise_report(STUDY, CASE, REPETITIONS)
    assert of(report, "throughput_cv").blocks_for_wanted_effect > 500
    (line,) = [line for line in noise_lines(report, "across_repetitions") if line.startswith("throughput CV")]
    assert line.endswith("blocks (normal for a CV).")
    assert re.search(r"smallest detectable change [\d.]+x;", line)
    assert not any("normal" in line for line in noise_lines(report, "within_run"))


def test_the_spread_of_a_mean_is_that_of_the_logs_at_least_the_rounding_of_the_tool():
    assert spread_of_mean(np.array([1.0, 2.0, 8.0])) == pytest.approx(np.sqrt(np.mean(np.log([2, 4]) ** 2)))
    rarely_off = [r.with_values({"latency_p95_ms": 0.0}) for r in REPETITIONS]
    rarely_off[-1] = rarely_off[-1].with_values({"latency_p95_ms": 1.0})
    noise = of(noise_report(with_blocks(STUDY, 30), CASE, rarely_off), "p95_latency_ms")
    typical = np.exp(np.log(2) / len(rarely_off)) / 2  # a 0 counts as half a millisecond
    rounding = np.sqrt(2 / 12) / typical
    assert rounding > spread_of_mean(np.array([0.5] * (len(rarely_off) - 1) + [1.0]))
    width = float(half_width(30, level_of("p95_latency_ms", STUDY)))
    assert noise.noise_floor_fraction == pytest.approx(np.expm1(rounding * width))
    stopped = [r.with_values({"throughput_mib_s": 0.0}) for r in REPETITIONS[:1]] + REPETITIONS[1:]
    assert of(noise_report(STUDY, CASE, stopped), "throughput_mib_s").value is None


def test_slow_drift_is_not_taken_for_noise():
    values = np.random.default_rng(5).normal(100, 2, 40)
    drifting = values * np.linspace(1, 2, 40)
    assert spread_of_mean(drifting) < 1.3 * spread_of_mean(values)
    assert np.std(drifting) / np.mean(drifting) > 5 * np.std(values) / np.mean(values)


def test_two_blocks_among_many_comparisons_find_no_change_at_all():
    report = noise_report(with_blocks(STUDY, 2), CASE, REPETITIONS)
    assert of(report, "p95_latency_ms").minimum_detectable_effect_fraction is None
    assert of(report, "latency_cv").noise_floor_fraction is None
    assert all("no interval with 2 blocks" in line for line in noise_lines(report, "across_repetitions")[1:])


@pytest.mark.filterwarnings("error")
def test_too_few_or_equal_or_failed_repetitions_give_no_number():
    equal = [r.with_values({"latency_p95_ms": 5.0, "throughput_mib_s": 5.0}) for r in REPETITIONS]
    failed = [r.model_copy(update={"outcome": "failed"}) for r in REPETITIONS]
    for given in ([], REPETITIONS[:4], equal, failed):
        report = noise_report(STUDY, CASE, given)
        assert {noise.minimum_detectable_effect_fraction for noise in report.objectives} == {None}
        assert all("unknown after" in line for line in noise_lines(report, "across_repetitions")[1:])


def test_a_variability_within_runs_is_judged_like_a_mean():
    study = STUDY.model_copy(update={"protocol": STUDY.protocol.model_copy(update={"variability": "within_run"})})
    rng = np.random.default_rng(8)
    within = [
        r.with_values({"latency_cv_in_run": cv, "throughput_cv_in_run": None})
        for r, cv in zip(REPETITIONS, rng.normal(0.5, 0.02, len(REPETITIONS)), strict=True)
    ]
    report = noise_report(study, CASE, within)
    assert of(report, "latency_cv").value == pytest.approx(0.5, abs=0.02)
    assert of(report, "latency_cv").minimum_detectable_effect_fraction < 0.15
    assert of(report, "throughput_cv").value is None


@pytest.mark.parametrize(("values", "has_tails"), [(np.linspace(8, 13, 40), False), ([1, *[9, 11, 12] * 12, 30], True)])
def test_the_spread_of_a_cv_is_the_delta_methods_and_at_least_a_normals(values: np.ndarray, has_tails: bool):
    values = np.asarray(values, dtype=float)
    mean, deviations = values.mean(), values - values.mean()
    cv = np.sqrt((deviations**2).sum() / (len(values) - 1)) / mean
    second, third, fourth = ((deviations**order).mean() for order in (2, 3, 4))
    sampled = (fourth / second**2 - 1) / 4 - third / second**1.5 * cv + cv**2
    normal = 0.5 + cv**2

    assert (sampled > normal) is np.bool_(has_tails)
    assert spread_of_cv(values) == pytest.approx(np.sqrt(2 * max(sampled, normal)))


def test_more_blocks_find_smaller_changes_and_more_record_sizes_hide_larger_ones():
    alone = STUDY.model_copy(update={"record_sizes_bytes": [int(CASE)]})
    few, many = (noise_report(with_blocks(STUDY, n), CASE, REPETITIONS) for n in (10, 40))
    for objective in ("p95_latency_ms", "throughput_cv"):
        reports = many, few, noise_report(alone, CASE, REPETITIONS)
        effects = [of(r, objective).minimum_detectable_effect_fraction for r in reports]
        assert effects[0] < effects[1] > effects[2]


def test_blocks_that_give_a_cv_no_interval_are_promised_to_find_nothing():
    """A CV across repetitions has a tenth of a mean's share, and takes more blocks for any interval."""
    for blocks, is_promised in ((5, False), (7, True)):
        report = noise_report(with_blocks(STUDY, blocks), CASE, REPETITIONS)
        assert of(report, "p95_latency_ms").noise_floor_fraction is not None
        assert (of(report, "throughput_cv").noise_floor_fraction is not None) is is_promised
        (line,) = [line for line in noise_lines(report, "across_repetitions") if line.startswith("throughput CV")]
        assert (f"no interval with {blocks} blocks; detecting a 10 % change takes " in line) is not is_promised
