from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from kafka_pareto.analysis.gains import Gain, compare, resolve
from kafka_pareto.analysis.paired_tests import Change
from kafka_pareto.analysis.repetition_values import is_mean, per_repetition_value
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.study.protocol import Protocol
from tests.recorded import paper_study, recorded_repetitions
from tests.unit.made_gains import made_gain

pytestmark = pytest.mark.fast

CASE = "8192"
PROTOCOL = paper_study().protocol
WITHIN_RUN = PROTOCOL.model_copy(update={"variability": "within_run", "load_tool": "load_generator"})


@pytest.fixture(scope="module")
def sides() -> tuple[list[Repetition], list[Repetition]]:
    """Ten recorded blocks of Kafka's defaults and of another configuration."""
    recorded = sorted(recorded_repetitions((CASE,), configurations=1), key=lambda r: r.block)
    return [r for r in recorded if r.is_baseline], [r for r in recorded if not r.is_baseline]


def with_cvs(repetitions: list[Repetition], centre: float, seed: int) -> list[Repetition]:
    values = np.random.default_rng(seed).normal(centre, 0.02, len(repetitions)).tolist()
    return [
        r.with_values({"latency_cv_in_run": v, "throughput_cv_in_run": v})
        for r, v in zip(repetitions, values, strict=True)
    ]


def gain_of(low: float | None, high: float | None, change: float = 0.0, objective: str = "throughput_mib_s") -> Gain:
    low, high = (math.nan if end is None else end for end in (low, high))
    return made_gain(Change(change, low, high, 0.5), objective=objective)


def test_a_mean_is_compared_with_rank_test_and_effect_sizes_beside(sides: tuple[list[Repetition], list[Repetition]]):
    gain = compare("throughput_mib_s", *sides, PROTOCOL, np.random.default_rng(1))
    baseline, candidate = ([r.number("throughput_mib_s") for r in side] for side in sides)
    assert gain.mann_whitney_p_value == pytest.approx(stats.mannwhitneyu(candidate, baseline).pvalue)
    above = sum((c > b) - (c < b) for c in candidate for b in baseline)
    assert gain.cliffs_delta == pytest.approx(above / 100)
    pooled = math.sqrt((np.var(baseline, ddof=1) + np.var(candidate, ddof=1)) / 2)
    g = (np.mean(candidate) - np.mean(baseline)) / pooled * (1 - 3 / (4 * 20 - 9))
    assert gain.hedges_g == pytest.approx(g)


def test_a_cv_across_repetitions_has_no_sample_to_rank(sides: tuple[list[Repetition], list[Repetition]]):
    gain = compare("latency_cv", *sides, PROTOCOL, np.random.default_rng(1))
    assert gain.p_value is not None
    beside = (gain.welch_p_value, gain.mann_whitney_p_value, gain.hedges_g, gain.cliffs_delta)
    assert beside == (None, None, None, None)


def test_a_cv_within_runs_is_compared_like_a_mean(sides: tuple[list[Repetition], list[Repetition]]):
    baseline, candidate = with_cvs(sides[0], 0.4, seed=1), with_cvs(sides[1], 0.3, seed=2)
    gain = compare("latency_cv", baseline, candidate, WITHIN_RUN, np.random.default_rng(1))
    assert gain.reference_value == pytest.approx(0.4, abs=0.02)
    assert gain.change_fraction == pytest.approx(-0.25, abs=0.05)
    assert gain.p_value < 0.001
    assert gain.cliffs_delta == -1.0


def test_a_block_without_the_value_on_one_side_is_left_out_and_not_cited(
    sides: tuple[list[Repetition], list[Repetition]],
):
    baseline, candidate = with_cvs(sides[0], 0.4, seed=1), with_cvs(sides[1], 0.3, seed=2)
    candidate[3] = candidate[3].with_values({"throughput_cv_in_run": None})
    gain = compare("throughput_cv", baseline, candidate, WITHIN_RUN, np.random.default_rng(1))
    assert len(gain.reference_repetition_ids) == len(gain.candidate_repetition_ids) == 9
    assert candidate[3].repetition_id not in gain.candidate_repetition_ids


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("protocol", [PROTOCOL, WITHIN_RUN])
def test_nothing_to_compare_gives_no_numbers_and_no_warning(protocol: Protocol):
    for objective in ("p95_latency_ms", "throughput_mib_s", "latency_cv", "throughput_cv"):
        gain = compare(objective, [], [], protocol, np.random.default_rng(1))
        assert (gain.change_fraction, gain.p_value, gain.hedges_g) == (None, None, None)


@pytest.mark.parametrize(("protocol", "baseline_ms"), [(PROTOCOL, 0.5), (WITHIN_RUN, 0.0005)])
def test_a_latency_of_zero_counts_as_half_of_what_the_load_tool_tells_apart(
    sides: tuple[list[Repetition], list[Repetition]], protocol: Protocol, baseline_ms: float
):
    baseline = [r.with_values({"latency_p95_ms": 0.0}) for r in sides[0]]
    candidate = [r.with_values({"latency_p95_ms": 5.0}) for r in sides[1]]
    gain = compare("p95_latency_ms", baseline, candidate, protocol, np.random.default_rng(1))
    assert gain.reference_value == pytest.approx(baseline_ms)
    assert gain.change_fraction == pytest.approx(5.0 / baseline_ms - 1)
    assert gain.p_value == pytest.approx(2 * 0.5**10)


def test_a_repetition_has_no_share_in_a_cv_across_repetitions(sides: tuple[list[Repetition], list[Repetition]]):
    (repetition,) = with_cvs(sides[0][:1], 0.4, seed=1)
    assert per_repetition_value(repetition, "latency_cv", "across_repetitions") is None
    assert per_repetition_value(repetition, "latency_cv", "within_run") == repetition.number("latency_cv_in_run")
    assert per_repetition_value(repetition, "throughput_mib_s", "within_run") == repetition.number("throughput_mib_s")
    assert [is_mean("throughput_cv", v) for v in ("across_repetitions", "within_run")] == [False, True]


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (-0.09, 0.09, "no difference shown"),
        (0.01, 0.09, "no difference shown"),  # a small difference, and too small to matter
        (-0.02, 0.11, "not resolved"),
        (-0.11, 0.02, "not resolved"),
        (0.02, 0.30, "not resolved"),  # not zero by itself, but Holm does not let it claim a gain
        (None, None, "not resolved"),
    ],
)
def test_no_difference_is_shown_only_where_the_whole_interval_is_within_the_wanted_effect(
    low: float | None, high: float | None, shown: str
):
    assert resolve(gain_of(low, high), 0.2, wanted_effect_fraction=0.10).resolution == shown


def test_what_counts_as_no_difference_is_the_studys_to_say():
    gain = gain_of(-0.15, 0.15)
    assert resolve(gain, 0.2, wanted_effect_fraction=0.20).resolution == "no difference shown"
    assert resolve(gain, 0.2, wanted_effect_fraction=0.10).resolution == "not resolved"


def test_a_small_gain_that_is_significant_after_holm_is_a_gain():
    better = gain_of(0.01, 0.05, change=0.03)
    assert resolve(better, 0.01, wanted_effect_fraction=0.10).resolution == "better"
    worse = gain_of(0.01, 0.05, change=0.03, objective="p95_latency_ms")
    assert resolve(worse, 0.01, wanted_effect_fraction=0.10).resolution == "worse"


def test_without_enough_blocks_not_even_equality_is_claimed():
    assert resolve(gain_of(-0.01, 0.01), float("nan"), wanted_effect_fraction=0.10).resolution == "not resolved"
