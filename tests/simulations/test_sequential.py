from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kafka_pareto.analysis.gains import level_of
from kafka_pareto.campaign.records import Phase, Repetition
from kafka_pareto.decision.choice import Choice
from kafka_pareto.decision.decide import decide
from kafka_pareto.decision.decision import Decision
from kafka_pareto.study.factors import configuration_id
from kafka_pareto.study.tune import tune_study
from tests.simulations.sequential import (
    CANDIDATES,
    MODELS,
    RULE,
    After,
    Ends,
    Rule,
    false_claims,
    log_ratios_of,
    stated_by,
)
from tests.unit.deciding import CASE, FAST, candidates, repetitions, study_of

pytestmark = [pytest.mark.simulations, pytest.mark.studies]

QUICK = replace(RULE, most=12, final=4)
BEFORE = next(iter(CANDIDATES.values()))
STUDY = tune_study(study_of(stopping="sequential", gain_blocks=12, final_blocks=4, minimum_blocks=3))


@pytest.mark.parametrize("rule", [RULE, QUICK], ids=["24 blocks, then 10", "12 blocks, then 4"])
@pytest.mark.parametrize("model", MODELS)
def test_at_most_one_in_twenty_unchanged_campaigns_claims_a_gain_at_1_to_7_record_sizes(model: str, rule: Rule) -> None:
    gain, _, unasked = false_claims(model, rule, 4000, sds=(0.1,))
    assert unasked.max() <= gain.max() <= 0.05


@pytest.mark.parametrize("model", ["normal", "t with 3 degrees of freedom", "one in ten five times as far off"])
def test_at_most_one_in_two_hundred_claims_any_change_where_blocks_are_independent(model: str) -> None:
    assert false_claims(model, QUICK, 4000, sds=(0.1,))[1].max() <= 0.005


def test_the_previous_rule_exceeded_its_level_with_correlated_neighbours_or_long_tails() -> None:
    for model in ("AR(1) 0.5", "exponential tail, skewness 2"):
        assert false_claims(model, BEFORE, 4000, sds=(0.1,))[0].max() > 0.1


def ends_of(changes: tuple[float, float], sd: float, rule: Rule = RULE) -> Ends:
    return After(log_ratios_of("normal", 1000, sd, 43, changes), rule.deviation).ends(rule, 5)


def test_a_threefold_throughput_with_a_third_of_the_latency_is_claimed_in_both_within_eight_blocks() -> None:
    ends = ends_of((2.0, -2 / 3), 0.2)
    assert ends.better.all()
    assert ends.unasked.all()
    assert np.quantile(ends.blocks, 0.95) <= 8


def test_a_clear_gain_is_no_longer_inconclusive_in_one_of_two_means() -> None:
    assert ends_of((1.0, -0.5), 0.2).better.all(axis=1).mean() > 0.99
    assert ends_of((1.0, -0.5), 0.2, BEFORE).better.all(axis=1).mean() < 0.5


def test_harm_beyond_the_margin_needs_approval_despite_a_gain_in_throughput() -> None:
    for harm in (0.11, 0.2, 0.5):
        assert ends_of((0.5, harm), 0.2).unasked.mean() <= 0.001
    assert ends_of((0.5, 0.5), 0.2).worse[:, 1].mean() >= 0.95


def test_small_changes_use_all_blocks_and_are_left_open() -> None:
    ends = ends_of((0.05, -0.05), 0.2)
    assert np.median(ends.blocks) == RULE.most
    assert ends.unasked.mean() <= 0.02


@pytest.mark.parametrize(("change", "sd"), [(0.2, 0.2), (0.5, 0.35)])
def test_stated_gains_are_nearly_unbiased_and_their_intervals_contain_the_truth(change: float, sd: float) -> None:
    offered, by_gain_blocks, by_all, missed = stated_by(change, sd, RULE, 3000)
    assert 0.5 < offered < 1
    assert (1 + by_all) / (1 + change) < 1.015
    assert by_all < by_gain_blocks
    assert missed <= 0.0045


def decided(log_ratios: np.ndarray, gain_blocks: int, final_blocks: int = 0) -> Decision:
    """Decides by the project's own code; the baseline does not vary, and all CVs are those of the pick."""
    values = np.array([[20.0], [100.0]]) * np.exp(log_ratios)
    phases: list[tuple[Phase, slice]] = [
        ("gain", slice(0, gain_blocks)),
        ("final", slice(gain_blocks, gain_blocks + final_blocks)),
    ]
    measured: dict[Phase, list[Repetition]] = {}
    for phase, part in phases:
        throughput, p95_ms = values[:, part]
        still = [np.full(throughput.size, value) for value in (100.0, 20.0)]
        both = [
            *repetitions(STUDY.baseline_configuration(), *still, phase),
            *repetitions(FAST, p95_ms, throughput, phase),
        ]
        measured[phase] = [each.with_values({"block": each.block + part.start}) for each in both]
    return decide(
        STUDY,
        CASE,
        Choice(configuration_id=configuration_id(FAST), chosen_by="balanced_gain"),
        candidates(FAST),
        choice_repetitions=[],
        gain_repetitions=measured["gain"],
        final_repetitions=measured["final"],
    )


@pytest.mark.parametrize("changes", [(0.5, -1 / 3), (0.0, 0.5), (0.0, 0.0)])
def test_the_simulated_rule_is_the_one_that_decides(changes: tuple[float, float]) -> None:
    assert level_of("throughput_mib_s", STUDY) == pytest.approx(0.05 / (QUICK.comparisons * 5))
    log_ratios = log_ratios_of("normal", 12, 0.15, 47, changes, blocks=16)
    ends = After(log_ratios, QUICK.deviation).ends(QUICK, 5)
    for number, drawn in enumerate(log_ratios):
        blocks = next(n for n in range(3, 13) if decided(drawn, n).is_answered or n == 12)
        decision = decided(drawn, blocks)
        if decision.shows_a_change:
            decision = decided(drawn, blocks, 4)
        found = {gain.objective: gain.resolution for gain in decision.gains}
        assert (blocks, decision.blocks_used) == (ends.blocks[number], ends.all_blocks[number])
        for at, mean in enumerate(("throughput_mib_s", "p95_latency_ms")):
            assert (found[mean] == "better", found[mean] == "worse") == (
                ends.better[number, at],
                ends.worse[number, at],
            )
        assert decision.recommended == ends.unasked[number]
