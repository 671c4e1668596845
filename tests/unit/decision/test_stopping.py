"""Holds what a decision says of the end of its blocks against what is asked of many orders of them at once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from kafka_pareto.analysis.pairing import paired
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.decision.choice import Choice
from kafka_pareto.decision.decide import decide
from kafka_pareto.decision.decision import Decision
from kafka_pareto.decision.stopping import Rule, weights_of_blocks
from kafka_pareto.study.tune import Tune, tune_study
from tests.recorded import recorded_repetitions
from tests.unit.checking import WINNER, WINNER_ID
from tests.unit.measuring import CASE, quick

pytestmark = pytest.mark.fast

MOST, FINAL = 12, 3
CONFIRMATION = {"choice_blocks": 2, "gain_blocks": MOST, "minimum_blocks": 3, "final_blocks": FINAL}
STUDY: Tune = tune_study(quick(record_sizes_bytes=[int(CASE)], confirmation={**CONFIRMATION, "stopping": "sequential"}))
CHOICE = Choice(configuration_id=WINNER_ID, chosen_by="balanced_gain")
CANDIDATES = pd.DataFrame([{"configuration_id": WINNER_ID, **WINNER}])


def blocks_of(log_ratios: np.ndarray, phase: str = "gain", first_block: int = 0) -> list[Repetition]:
    """Repetitions of the baseline and the winner whose log-ratios of throughput and p95 latency are these."""
    template = next(r for r in recorded_repetitions((CASE,)) if r.outcome == "valid")
    found = []
    for number, (throughput, p95) in enumerate(log_ratios.T):
        for identity, ratio in ((STUDY.baseline_id(), (0.0, 0.0)), (WINNER_ID, (throughput, p95))):
            values = {"throughput_mib_s": 10.0 * np.exp(ratio[0]), "latency_p95_ms": 400.0 * np.exp(ratio[1])}
            place = {"configuration_id": identity, "phase": phase, "block": first_block + number}
            name = f"{phase}-r00-{CASE}-b{first_block + number:03d}-{identity}"
            head = {"repetition_id": name, "is_baseline": identity == STUDY.baseline_id(), "attempts": 1}
            found.append(template.with_values({**values, **place, **head}))
    return found


def decided(gain: list[Repetition], final: list[Repetition] | None = None) -> Decision:
    return decide(
        STUDY,
        CASE,
        CHOICE,
        CANDIDATES,
        choice_repetitions=[],
        gain_repetitions=gain,
        final_repetitions=final or [],
        rng=np.random.default_rng(1),
    )


def rule() -> Rule:
    return Rule(
        signs=np.array([1.0, -1.0]),
        level=0.05 / 4,
        harm_margin_fraction=0.1,
        wanted_effect_fraction=0.1,
        minimum_blocks=3,
        # The tool shows whole milliseconds.
        least_sds=np.array([0.0, 0.0]),
    )


@pytest.mark.parametrize(
    ("changes", "sd"),
    [((0.5, -0.5), 0.15), ((0.5, 0.4), 0.1), ((0.0, 0.0), 0.02), ((0.15, -0.1), 0.2), ((-0.3, -0.3), 0.1)],
)
def test_one_order_of_blocks_ends_where_the_decision_says_it_is_answered(
    changes: tuple[float, float], sd: float
) -> None:
    rng = np.random.default_rng(11)
    for _ in range(4):
        log_ratios = np.array(changes)[:, np.newaxis] + rng.normal(0, sd, (2, MOST))
        ended = rule().answers(log_ratios).ended
        found = blocks_of(log_ratios)
        for blocks in range(3, MOST + 1):
            decision = decided(found[: 2 * blocks])
            # Holm's second step is at a larger level: a decision may claim a second mean, never fewer.
            assert ended[blocks - 1] == decision.is_answered or len(decision.better) == 2, (blocks, decision.verdict)


def sides(log_ratios: np.ndarray) -> tuple[list[Repetition], list[Repetition]]:
    final = blocks_of(log_ratios[:, -FINAL:], "final", MOST)
    return paired(STUDY.baseline_id(), WINNER_ID, [*blocks_of(log_ratios[:, :-FINAL]), *final])


def test_a_clear_claim_weighs_all_blocks_alike_and_a_close_one_the_final_blocks() -> None:
    rng = np.random.default_rng(3)
    clear = np.array([1.0, -1.0])[:, np.newaxis] + rng.normal(0, 0.02, (2, MOST))
    until_answered = 3 + int(rule().answers(clear).ended[2:].argmax())
    assert until_answered < 6
    blocks = until_answered + FINAL
    weights = weights_of_blocks(STUDY, *sides(clear[:, :blocks]), FINAL, rng, used_up=False)
    assert weights == pytest.approx(np.full(blocks, 1 / blocks), abs=0.02)
    late = (np.array([0.25, -0.25])[:, np.newaxis] + rng.normal(0, 0.25, (2, MOST)) for _ in range(500))
    close = next(each for each in late if rule().answers(each).ended[2:].argmax() == MOST - FINAL - 3)
    weights = weights_of_blocks(STUDY, *sides(close), FINAL, rng, used_up=False)
    assert weights.sum() == pytest.approx(1)
    assert weights[-FINAL:].sum() > 1.5 * FINAL / MOST


def test_where_a_block_lacks_a_mean_only_the_final_blocks_count() -> None:
    rng = np.random.default_rng(3)
    reference, candidate = sides(np.array([0.5, -0.5])[:, np.newaxis] + rng.normal(0, 0.1, (2, 5 + FINAL)))
    candidate[1] = candidate[1].with_values({"latency_p95_ms": None})
    weights = weights_of_blocks(STUDY, reference, candidate, FINAL, rng, used_up=False)
    assert weights == pytest.approx([0] * 5 + [1 / 3] * 3)


def test_a_failed_repetition_leaves_its_block_out_and_the_blocks_count_as_used_up() -> None:
    rng = np.random.default_rng(8)
    log_ratios = np.array([0.2, -0.02])[:, np.newaxis] + rng.normal(0, 0.12, (2, MOST + FINAL))
    gain, final = blocks_of(log_ratios[:, :MOST]), blocks_of(log_ratios[:, MOST:], "final", MOST)
    gain[3] = gain[3].with_values({"outcome": "failed", "reason": "the broker was gone"})
    decision = decided(gain, final)
    assert decision.blocks_used == MOST - 1
    assert decision.pick_counts.failed == 1
    for stated in decision.stated_gains:
        assert gain[3].repetition_id not in stated.candidate_repetition_ids
