from __future__ import annotations

import json
import re
from collections.abc import Sequence

import numpy as np
import pytest

from kafka_pareto.campaign.records import Repetition
from kafka_pareto.decision.choice import Choice, choose
from kafka_pareto.decision.counts import counts_of
from kafka_pareto.decision.decide import decide
from kafka_pareto.decision.decision import Decision
from kafka_pareto.errors import ArtifactError
from kafka_pareto.report.reasons import missed_limits_text, reason_of, trade_offs
from kafka_pareto.storage.record import decode_record
from kafka_pareto.study.constraints import ForbiddenRegion
from kafka_pareto.study.factors import configuration_id
from kafka_pareto.study.objectives import ChooseBy, Lexicographic, Limit
from kafka_pareto.study.study import Study
from tests.recorded import recorded_repetitions
from tests.unit.deciding import CASE, FAST, around, baseline, candidates, repetitions, study_of

pytestmark = pytest.mark.fast


def decided(
    study: Study,
    gain: list[Repetition],
    chosen_from: list[Repetition] | None = None,
    choice: Choice | None = None,
    discarded: Sequence[Repetition] = (),
) -> Decision:
    return decide(
        study,
        CASE,
        choice or Choice(configuration_id=configuration_id(FAST), chosen_by="balanced_gain"),
        candidates(FAST),
        choice_repetitions=chosen_from or [],
        gain_repetitions=gain,
        discarded=discarded,
    )


def measured(p95_ms: float = 50, throughput_mib_s: float = 30, blocks: int = 10) -> list[Repetition]:
    fast = repetitions(FAST, around(p95_ms, blocks=blocks), around(throughput_mib_s, blocks=blocks))
    return [*baseline(blocks=blocks), *fast]


def test_a_pick_that_failed_more_often_than_the_baseline_is_not_recommended():
    gain = measured(blocks=20)
    gain[-1] = gain[-1].model_copy(update={"outcome": "failed"})
    decision = decided(study_of(), gain)
    assert decision.verdict == "ask_a_person"
    assert "failed in 1 of 20 repetitions, the baseline in 0 of 20 (exact test: p = 0.500)" in reason_of(decision)
    often = [*gain[:-6], *(each.model_copy(update={"outcome": "failed"}) for each in gain[-6:])]
    assert decided(study_of(), often).verdict == "keep_failed_more"
    assert (decision.pick_counts.failed, decision.baseline_counts.failed) == (1, 0)
    gain[0] = gain[0].model_copy(update={"outcome": "failed"})
    assert decided(study_of(), gain).verdict == "recommended"


def test_a_pick_that_upset_the_cluster_more_often_than_the_baseline_is_not_recommended():
    gain = measured(blocks=20)
    assert decided(study_of(), gain).verdict == "recommended"
    gain[-1] = gain[-1].model_copy(update={"attempts": 3, "upsets": 2})
    decision = decided(study_of(), gain)
    assert (decision.verdict, decision.pick_counts.repeated) == ("ask_a_person", 0)
    told = reason_of(decision)
    assert "failed in 2 of 22 repetitions (2 with a leader change, or an unhealthy cluster afterward), the" in told
    assert "baseline in 0 of 20 (exact test: p = 0.268)" in told
    spoiled = [each.model_copy(update={"outcome": "failed", "upsets": 1}) for each in gain[-6:]]
    decision = decided(study_of(), gain, discarded=spoiled)
    assert (decision.verdict, decision.pick_counts.upsets) == ("keep_failed_more", 8)
    of_both = [*spoiled, *(each.model_copy(update={"upsets": 2}) for each in gain[:6])]
    assert decided(study_of(), gain, discarded=of_both).verdict == "recommended"


def test_an_attempt_that_moved_a_leader_and_lost_records_is_counted_once_as_the_repetition_that_it_is():
    lost = repetitions(FAST, around(50, blocks=20), around(30, blocks=20))
    lost[0] = lost[0].model_copy(update={"outcome": "records_lost", "attempts": 1, "upsets": 1})
    lost[1] = lost[1].model_copy(update={"outcome": "records_lost", "attempts": 3, "upsets": 3})
    counts = counts_of(configuration_id(FAST), lost)
    assert (counts.repetitions, counts.lost_records, counts.upsets) == (20, 2, 2)
    assert (counts.failed_or_upset, counts.attempts) == (2, 22)


def test_a_clear_gain_over_enough_blocks_is_recommended_with_its_size():
    decision = decided(study_of(), measured())
    assert decision.verdict == "recommended"
    assert decision.recommended_configuration_id == configuration_id(FAST)
    assert decision.recommended_properties == {**FAST, "enable.idempotence": True}
    gains = {gain.objective: gain for gain in decision.gains}
    assert gains["p95_latency_ms"].change_fraction == pytest.approx(-0.5, abs=0.001)
    assert gains["throughput_mib_s"].change_fraction == pytest.approx(0.5, abs=0.01)
    assert gains["p95_latency_ms"].resolution == gains["throughput_mib_s"].resolution == "better"
    assert len(gains["p95_latency_ms"].candidate_repetition_ids) == decision.blocks_used == 10


def test_the_choice_blocks_do_not_enter_the_gains():
    lucky = [*baseline(phase="choice"), *repetitions(FAST, around(1), around(500), "choice")]
    # Block numbers of their own, so that none would be hidden behind a gain block of the same number.
    lucky = [repetition.with_values({"block": repetition.block + 100}) for repetition in lucky]
    beside, alone = decided(study_of(), measured(), lucky), decided(study_of(), measured())
    assert (beside.gains, beside.verdict) == (alone.gains, alone.verdict)


def test_the_same_clear_gain_over_too_few_blocks_keeps_the_baseline():
    decision = decided(study_of(), measured(blocks=9))
    assert decision.verdict == "keep_not_enough_evidence"
    assert decision.recommended_configuration_id == study_of().baseline_id()
    assert decision.pick_configuration_id == configuration_id(FAST)
    assert "9 complete blocks" in reason_of(decision)


def test_a_block_that_only_one_side_finished_is_not_evidence():
    gain = [*baseline()[1:], *repetitions(FAST, around(50), around(30))[:-1]]
    assert decided(study_of(), gain).blocks_used == 8


@pytest.mark.parametrize("to_the_millisecond", [False, True])
def test_more_throughput_at_the_price_of_latency_keeps_the_baseline(to_the_millisecond: bool):
    still = repetitions(study_of().baseline_configuration(), [1.0] * 10, around(20, seed=3))
    doubled = [*still, *repetitions(FAST, [2.0] * 10, around(30))]
    decision = decided(study_of(), doubled if to_the_millisecond else measured(150, 40))
    assert decision.verdict == "keep_harmed"
    assert "made p95 latency worse, although throughput improved" in reason_of(decision)


def test_equal_latencies_to_the_millisecond_rule_out_a_gain_only_if_a_millisecond_is_large():
    for p95_ms, verdict in ((1.0, "ask_a_person"), (20.0, "recommended")):
        still = repetitions(study_of().baseline_configuration(), [p95_ms] * 10, around(20, seed=3))
        decision = decided(study_of(), [*still, *repetitions(FAST, [p95_ms] * 10, around(30))])
        assert decision.verdict == verdict


def test_no_difference_keeps_the_baseline_and_differs_from_inconclusive():
    for spread, p95 in ((0.03, "no difference shown"), (0.5, "not resolved")):
        pick = repetitions(FAST, around(100, spread, seed=5, blocks=20), around(20, seed=6, blocks=20))
        decision = decided(study_of(), [*baseline(blocks=20), *pick])
        assert decision.verdict == "keep_no_gain"
        shown = {gain.objective: gain.resolution for gain in decision.main_gains}
        assert shown == {"p95_latency_ms": p95, "throughput_mib_s": "no difference shown"}
    assert reason_of(decision) == (
        "No significant gain in fresh blocks (inconclusive: p95 latency; no difference above 10 %: throughput)."
    )
    noisy = repetitions(FAST, around(100, spread=0.5, seed=5), around(20, spread=0.5, seed=6))
    assert {gain.resolution for gain in decided(study_of(), [*baseline(), *noisy]).main_gains} == {"not resolved"}


def test_gain_blocks_limited_by_the_load_generator_are_counted_on_both_sides():
    gain = measured()
    for at in (0, 10, 11):
        gain[at] = gain[at].with_values({"generator_bound": "the sending thread never waited"})
    choice = [r.with_values({"generator_bound": "in a choice block"}) for r in baseline(phase="choice")]
    decision = decided(study_of(), gain, choice)
    assert (decision.pick_counts.generator_bound, decision.baseline_counts.generator_bound) == (2, 1)


def test_records_lost_in_a_gain_block_keep_the_baseline_however_fast_it_was():
    lost = repetitions(FAST, [50], [30], outcome="records_lost")
    decision = decided(study_of(), [*measured(), *lost])
    assert decision.verdict == "keep_lost_records"
    assert decision.pick_counts.lost_records == 1


def test_a_stability_trade_off_is_reported():
    unsteady = repetitions(FAST, around(50, blocks=30), around(40, spread=0.3, blocks=30))
    decision = decided(study_of(), [*baseline(blocks=30), *unsteady])
    assert decision.verdict == "recommended"
    assert any(re.fullmatch(r"throughput CV is [\d,]+ % worse", sentence) for sentence in trade_offs(decision))


def test_the_exempt_baseline_is_named_where_it_breaks_a_constraint():
    study = study_of()
    kept = Choice(configuration_id=study.baseline_id(), chosen_by="balanced_gain")
    decision = decide(study, "65636", kept, candidates(FAST), choice_repetitions=[], gain_repetitions=[])
    assert [str(each) for each in decision.baseline_constraints_broken] == ["batch.size >= record.size"]
    assert decision.verdict == "keep_no_gain"
    assert decision.recommended_properties == decision.baseline_properties


@pytest.mark.slow
def test_halves_of_the_recorded_baseline_recommend_nothing():
    study = study_of(minimum_blocks=5)
    recorded = recorded_repetitions((CASE,), configurations=0, phase="gain")
    rng = np.random.default_rng(4)
    verdicts = []
    for _ in range(30):
        order = rng.permutation(10)
        first = [recorded[i].model_copy(update={"block": at}) for at, i in enumerate(order[:5])]
        second = [
            recorded[i].model_copy(
                update={"block": at, "configuration": FAST, "configuration_id": configuration_id(FAST)}
            )
            for at, i in enumerate(order[5:])
        ]
        verdicts.append(decided(study, [*first, *second]).verdict)
    assert verdicts.count("recommended") <= 2


def with_limits(*limits: str) -> Study:
    return study_of().model_copy(update={"limits": [Limit.parse(text) for text in limits]})


def test_a_pick_that_misses_a_limit_in_fresh_blocks_is_not_recommended_and_the_number_is_shown():
    gain = measured()
    assert decided(with_limits("p95_latency_ms <= 50.1"), gain).verdict == "recommended"
    decision = decided(with_limits("p95_latency_ms <= 40", "throughput_mib_s >= 25"), gain)
    assert decision.verdict == "keep_limits_missed"
    assert reason_of(decision) == "In fresh blocks, the pick misses p95_latency_ms <= 40 (50.0 ms, 25.0 % beyond)."
    assert decision.recommended_properties == decision.baseline_properties


def test_where_no_candidate_keeps_the_limits_the_reason_says_by_how_much_the_nearest_misses():
    study = with_limits("p95_latency_ms <= 40")
    choice = [*baseline(phase="choice"), *repetitions(FAST, around(50), around(30), "choice")]
    decision = decided(study, [], choice, choose(study, candidates(FAST), choice))
    assert decision.verdict == "keep_limits_missed"
    nearest = f"{configuration_id(FAST)} (lz4, 64 KiB, linger 5 ms, acks all)"
    missed = "p95_latency_ms <= 40 (50.0 ms, 25.0 % beyond)"
    none_keeps = "No eligible configuration meets every limit"
    assert reason_of(decision) == f"{none_keeps}. The closest, {nearest}, misses {missed}."
    assert missed_limits_text(decision.baseline_limits_missed) == "p95_latency_ms <= 40 (100.0 ms, 150.0 % beyond)"


def test_the_exempt_baseline_is_named_where_it_misses_a_limit_or_lies_in_a_forbidden_region():
    region = "batch.size < 65536 and acks == all"
    study = with_limits("throughput_mib_s >= 25").model_copy(update={"forbidden": [ForbiddenRegion.parse(region)]})
    decision = decided(study, measured())
    assert decision.verdict == "recommended"
    assert missed_limits_text(decision.baseline_limits_missed) == "throughput_mib_s >= 25 (20.0 MiB/s, 20.0 % beyond)"
    assert [str(each) for each in decision.baseline_in_forbidden] == [region]
    assert decision.baseline_constraints_broken == []


def test_steadiness_alone_is_a_gain_only_where_the_study_asks_for_it():
    unsteady = repetitions(
        study_of().baseline_configuration(), around(100, blocks=30, seed=2), around(20, spread=0.1, blocks=30, seed=3)
    )
    steadier = repetitions(FAST, around(100, blocks=30, seed=5), around(20, spread=0.01, blocks=30, seed=6))
    asked = study_of(choose_by=Lexicographic(lexicographic=["throughput_cv"]))
    decision = decided(asked, [*unsteady, *steadier])
    assert decision.verdict == "recommended"
    assert reason_of(decision).startswith("In fresh blocks, throughput CV improved")
    assert decided(study_of(), [*unsteady, *steadier]).verdict == "keep_no_gain"


def test_an_inconclusive_result_gives_the_blocks_needed():
    noisy = repetitions(FAST, around(90, spread=0.3, seed=5), around(30, seed=6))
    decision = decided(study_of(), [*baseline(), *noisy])
    gains = {gain.objective: gain for gain in decision.gains}
    p95, throughput = gains["p95_latency_ms"], gains["throughput_mib_s"]
    assert (p95.resolution, throughput.resolution) == ("not resolved", "better")
    assert p95.blocks_to_tell is not None
    assert p95.blocks_to_tell > 10
    assert throughput.blocks_to_tell is None


@pytest.mark.parametrize(
    "criterion", ["balanced_gain", Lexicographic(lexicographic=["p95_latency_ms", "throughput_mib_s"])]
)
def test_the_same_evidence_gives_the_same_decision_and_survives_the_store(criterion: ChooseBy):
    choice = Choice(configuration_id=configuration_id(FAST), chosen_by=criterion)
    decision, again = (decided(study_of(choose_by=criterion), measured(), None, choice) for _ in range(2))
    assert (decision, decision.chosen_by) == (again, criterion)
    assert decode_record(decision.model_dump_json().encode(), "decision.json", Decision) == decision


@pytest.mark.parametrize("damage", [{"baseline_durability": "acks_some"}, {"pick_durability": "none"}])
def test_a_stored_decision_with_a_durability_that_there_is_not_is_refused_by_its_key(damage: dict[str, str]) -> None:
    stored = decided(study_of(), measured()).model_dump(mode="json") | damage
    [name] = damage
    with pytest.raises(ArtifactError, match=f"some/decision.json: {name}: "):
        decode_record(json.dumps(stored).encode(), "some/decision.json", Decision)


@pytest.mark.parametrize(("acks", "promise", "weaker"), [("all", "acks_all_idempotent", False), ("1", "acks_1", True)])
def test_a_decision_states_its_picks_durability_guarantee_and_whether_it_is_weaker(
    acks: str, promise: str, weaker: bool
) -> None:
    pick = {**FAST, "acks": acks}
    gain = [*baseline(), *repetitions(pick, around(50), around(30))]
    choice = Choice(configuration_id=configuration_id(pick), chosen_by="balanced_gain")
    decision = decide(study_of(), CASE, choice, candidates(pick), choice_repetitions=[], gain_repetitions=gain)
    assert (decision.baseline_durability, decision.pick_durability) == ("acks_all_idempotent", promise)
    assert decision.weaker_than_baseline is weaker


def test_losses_and_failures_are_counted_per_side_and_none_without_a_pick() -> None:
    gain = measured()
    gain[0] = gain[0].model_copy(update={"outcome": "records_lost"})
    gain[1] = gain[1].model_copy(update={"outcome": "records_duplicated"})
    decision = decided(study_of(), gain)
    assert (decision.baseline_counts.lost_records, decision.pick_counts.lost_records) == (2, 0)

    kept = Choice(configuration_id=study_of().baseline_id(), chosen_by="balanced_gain")
    decision = decided(study_of(), gain, choice=kept)
    assert (decision.pick_configuration_id, decision.pick_durability) == (None, None)
    assert (decision.pick_counts.lost_records, decision.pick_counts.failed) == (0, 0)
