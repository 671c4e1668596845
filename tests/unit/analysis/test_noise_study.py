from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from kafka_pareto.analysis.gains import resolve
from kafka_pareto.analysis.noise_study import (
    blocks_needed,
    blocks_to_tell,
    minimum_detectable_effect_fraction,
    noise_lines,
    noise_report,
    spread_of_cv,
    spread_of_mean,
)
from kafka_pareto.analysis.paired_tests import Change, cv_change, mean_change
from kafka_pareto.campaign.records import NoiseOfObjective, NoiseReport, Repetition
from kafka_pareto.storage.record import decode_record
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.study import Study
from tests.recorded import paper_study, recorded_repetitions
from tests.unit.made_gains import made_gain

pytestmark = pytest.mark.fast

CASE = "8192"
COMPARISONS = 20


@pytest.fixture(name="study")
def study_() -> Study:
    return paper_study()


@pytest.fixture(name="repetitions")
def repetitions_() -> list[Repetition]:
    """Ten recorded repetitions of Kafka's defaults."""
    return recorded_repetitions((CASE,), configurations=0, phase="noise")


def of(report: NoiseReport, objective: ObjectiveName) -> NoiseOfObjective:
    return next(noise for noise in report.objectives if noise.objective == objective)


def with_blocks(study: Study, gain_blocks: int) -> Study:
    return study.model_copy(update={"confirmation": study.confirmation.model_copy(update={"gain_blocks": gain_blocks})})


def test_the_report_traces_to_its_repetitions_and_survives_the_store(study: Study, repetitions: list[Repetition]):
    report = noise_report(study, CASE, repetitions, COMPARISONS)
    assert report.repetition_ids == [r.repetition_id for r in repetitions]
    assert (report.blocks, report.comparisons, report.wanted_effect_fraction) == (10, 20, 0.1)
    assert decode_record(report.model_dump_json().encode(), "noise.json", NoiseReport) == report


def test_what_is_detectable_lies_above_the_noise_floor_and_throughput_is_the_quietest(
    study: Study, repetitions: list[Repetition]
):
    report = noise_report(study, CASE, repetitions, COMPARISONS)
    for noise in report.objectives:
        assert noise.minimum_detectable_effect_fraction > noise.noise_floor_fraction > 0
    floors = {noise.objective: noise.noise_floor_fraction for noise in report.objectives}
    assert min(floors, key=lambda objective: floors[objective]) == "throughput_mib_s"


def test_more_blocks_find_smaller_changes_and_more_comparisons_hide_larger_ones(
    study: Study, repetitions: list[Repetition]
):
    few, many = (noise_report(with_blocks(study, n), CASE, repetitions, COMPARISONS) for n in (10, 40))
    alone = noise_report(study, CASE, repetitions, 1)
    for objective in ("p95_latency_ms", "throughput_cv"):
        effects = [of(r, objective).minimum_detectable_effect_fraction for r in (many, few, alone)]
        assert effects[0] < effects[1] > effects[2]


def test_the_wanted_effect_is_detectable_with_the_blocks_that_the_report_asks_for(
    study: Study, repetitions: list[Repetition]
):
    for objective in ("p95_latency_ms", "throughput_mib_s", "latency_cv"):
        needed = of(noise_report(study, CASE, repetitions, COMPARISONS), objective).blocks_for_wanted_effect
        enough = noise_report(with_blocks(study, needed), CASE, repetitions, COMPARISONS)
        fewer = noise_report(with_blocks(study, needed - 1), CASE, repetitions, COMPARISONS)
        effects = [of(r, objective).minimum_detectable_effect_fraction for r in (enough, fewer)]
        assert effects[0] == pytest.approx(0.1, abs=0.01)
        assert effects[0] < effects[1]


def test_a_cv_takes_hundreds_of_blocks_for_a_small_change_and_the_report_says_so(
    study: Study, repetitions: list[Repetition]
):
    report = noise_report(study, CASE, repetitions, COMPARISONS)
    assert of(report, "throughput_cv").blocks_for_wanted_effect > 500
    (line,) = [line for line in noise_lines(report) if line.startswith("throughput CV")]
    assert line.endswith("blocks, as small changes of a CV do.")
    assert "-fold and more are found" in line


def test_slow_drift_is_not_taken_for_noise():
    values = np.random.default_rng(5).normal(100, 2, 40)
    drifting = values * np.linspace(1, 2, 40)
    assert spread_of_mean(drifting).limit < 1.3 * spread_of_mean(values).limit
    assert np.std(drifting) / np.mean(drifting) > 5 * np.std(values) / np.mean(values)


def test_a_mean_changed_by_the_detectable_effect_is_found_four_times_in_five():
    rng = np.random.default_rng(6)
    effect = minimum_detectable_effect_fraction(spread_of_mean(rng.normal(100, 10, 5_000)), 10, COMPARISONS)
    found = sum(
        mean_change((1 + effect) * rng.normal(100, 10, 10), rng.normal(100, 10, 10)).p_value < 0.05 / COMPARISONS
        for _ in range(400)
    )
    assert found / 400 == pytest.approx(0.8, abs=0.06)


@pytest.mark.parametrize("blocks", [6, 7, 10])
def test_a_cv_changed_by_the_detectable_effect_is_found_four_times_in_five(blocks: int):
    rng = np.random.default_rng(6)
    effect = minimum_detectable_effect_fraction(spread_of_cv(rng.normal(100, 10, 5_000)), blocks, COMPARISONS)
    found = sum(
        cv_change(rng.normal(100, 10, blocks), rng.normal(100, 10 / (1 + effect), blocks), rng).p_value
        < 0.05 / COMPARISONS
        for _ in range(100)
    )
    assert found / 100 == pytest.approx(0.8, abs=0.12)


def test_an_effect_that_a_hundred_thousand_blocks_do_not_find_has_no_number():
    spread = spread_of_mean(np.random.default_rng(7).lognormal(0, 1, 50))
    assert blocks_needed(spread, 0.001, COMPARISONS, minimum=2) is None
    assert blocks_needed(spread, 0.99, COMPARISONS, minimum=2) < 1_000


def test_two_blocks_among_many_comparisons_find_no_change_at_all(study: Study, repetitions: list[Repetition]):
    report = noise_report(with_blocks(study, 2), CASE, repetitions, COMPARISONS)
    assert of(report, "p95_latency_ms").minimum_detectable_effect_fraction is None
    assert of(report, "latency_cv").noise_floor_fraction is None
    assert any("no change would be found" in line for line in noise_lines(report))


def test_blocks_that_give_a_cv_no_interval_are_promised_to_find_nothing(study: Study, repetitions: list[Repetition]):
    for blocks, is_promised in ((5, False), (6, True)):
        report = noise_report(with_blocks(study, blocks), CASE, repetitions, 1)
        assert (of(report, "throughput_cv").minimum_detectable_effect_fraction is not None) is is_promised
        (line,) = [line for line in noise_lines(report) if line.startswith("throughput CV")]
        assert (f"{blocks} blocks give no interval of its change; 10% takes " in line) is not is_promised


def test_tied_latencies_are_promised_an_interval_of_their_cv_only_with_more_blocks(
    study: Study, repetitions: list[Repetition]
):
    tied = [r.with_values({"latency_p95_ms": 20.0 + (at > 7)}) for at, r in enumerate(repetitions)]
    report = noise_report(with_blocks(study, 10), CASE, tied, COMPARISONS)
    assert of(report, "latency_cv").noise_floor_fraction is None
    assert of(report, "throughput_cv").noise_floor_fraction is not None


@pytest.mark.filterwarnings("error")
def test_too_few_or_equal_or_failed_repetitions_give_no_number(study: Study, repetitions: list[Repetition]):
    equal = [r.with_values({"latency_p95_ms": 5.0, "throughput_mib_s": 5.0}) for r in repetitions]
    failed = [r.model_copy(update={"outcome": "failed"}) for r in repetitions]
    for given in ([], repetitions[:4], equal, failed):
        report = noise_report(study, CASE, given, COMPARISONS)
        assert {noise.minimum_detectable_effect_fraction for noise in report.objectives} == {None}
        assert all("not known" in line for line in noise_lines(report)[1:])


def test_a_variability_within_runs_is_judged_like_a_mean(study: Study, repetitions: list[Repetition]):
    study = study.model_copy(update={"protocol": study.protocol.model_copy(update={"variability": "within_run"})})
    rng = np.random.default_rng(8)
    within = [
        r.with_values({"latency_cv_in_run": cv, "throughput_cv_in_run": None})
        for r, cv in zip(repetitions, rng.normal(0.5, 0.02, len(repetitions)), strict=True)
    ]
    report = noise_report(study, CASE, within, COMPARISONS)
    assert of(report, "latency_cv").value == pytest.approx(0.5, abs=0.02)
    assert of(report, "latency_cv").minimum_detectable_effect_fraction < 0.15
    assert of(report, "throughput_cv").value is None


@pytest.mark.parametrize("change", [0.15, 0.05, 0.0, -0.05])
def test_with_the_blocks_that_would_tell_four_in_five_have_an_answer(change: float):
    rng = np.random.default_rng(9)
    deviation = 0.2
    half_interval = stats.t.isf(0.025, 19) * deviation * np.sqrt(2 / 20)
    low, high = (float((1 + change) * np.exp(side * half_interval) - 1) for side in (-1, 1))
    unresolved = made_gain(Change(change, low, high, 0.5), blocks=20)
    needed = blocks_to_tell(unresolved, 0.1, COMPARISONS)
    assert needed is not None
    answered = 0
    for _ in range(400):
        baseline, candidate = rng.normal(1, deviation, needed), (1 + change) * rng.normal(1, deviation, needed)
        found = mean_change(baseline, candidate)
        answered += resolve(made_gain(found, needed), found.p_value * COMPARISONS, 0.1).resolution != "not resolved"
    assert answered / 400 == pytest.approx(0.8, abs=0.06)


def test_a_change_without_an_interval_or_beyond_all_blocks_has_no_number_that_would_tell():
    nan = float("nan")
    without = made_gain(Change(0.2, nan, nan, nan), 20).model_copy(
        update={"change_low_fraction": None, "change_high_fraction": None}
    )
    assert blocks_to_tell(without, 0.1, COMPARISONS) is None
    assert blocks_to_tell(made_gain(Change(0.0999, -0.9, 9.0, 0.9), 20), 0.1, COMPARISONS) is not None
    assert blocks_to_tell(made_gain(Change(0.0, -0.9, 9.0, 0.9), 20), 0.0001, COMPARISONS) is None


@pytest.mark.parametrize(("values", "has_tails"), [(np.linspace(8, 13, 40), False), ([1, *[9, 11, 12] * 12, 30], True)])
def test_the_spread_of_a_cv_is_the_delta_methods_and_at_least_a_normals(values: np.ndarray, has_tails: bool):
    values = np.asarray(values, dtype=float)
    mean, deviations = values.mean(), values - values.mean()
    cv = np.sqrt((deviations**2).sum() / (len(values) - 1)) / mean
    second, third, fourth = ((deviations**order).mean() for order in (2, 3, 4))
    sampled = (fourth / second**2 - 1) / 4 - third / second**1.5 * cv + cv**2
    normal = 0.5 + cv**2

    assert (sampled > normal) is np.bool_(has_tails)
    assert spread_of_cv(values).limit == pytest.approx(np.sqrt(2 * max(sampled, normal)))
