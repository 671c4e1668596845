from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
import pytest

from kafka_pareto.decision import Decision, adjust_across_record_sizes, choose, decide
from kafka_pareto.factors import configuration_id
from kafka_pareto.gains import Gain
from kafka_pareto.records import Phase, Repetition, decode_record
from kafka_pareto.study import Study
from kafka_pareto.study_file import parse_study
from tests.recorded import STUDIES, recorded_repetitions

pytestmark = pytest.mark.fast

SIZE = 8192
FAST = {"batch.size": 65536, "linger.ms": 5, "acks": "all", "compression.type": "lz4"}
OTHER = {"batch.size": 32768, "linger.ms": 0, "acks": "all", "compression.type": "none"}
WEAK = {"batch.size": 65536, "linger.ms": 5, "acks": "1", "compression.type": "lz4"}
TEMPLATE = recorded_repetitions((SIZE,), configurations=0, blocks=1)[0]


def study_of(**confirmation: object) -> Study:
    text = (STUDIES / "paper.yaml").read_text(encoding="utf-8").replace("durability: acks_0", "#")
    study = parse_study(text, "paper.yaml")
    changed = {"choose_by": "balanced_gain", **confirmation}
    return study.model_copy(update={"confirmation": study.confirmation.model_copy(update=changed)})


def repetitions(
    configuration: dict,
    p95_ms: Iterable[float],
    throughput_mib_s: Iterable[float],
    phase: Phase = "gain",
    outcome: str = "valid",
) -> list[Repetition]:
    """One made repetition per block; made, because a verdict's rules are asked here, not a measurement."""
    name = configuration_id(configuration)
    return [
        TEMPLATE.model_copy(
            update={
                "repetition_id": f"{phase}-r00-{SIZE}-b{block:03d}-{name}",
                "phase": phase,
                "configuration": configuration,
                "configuration_id": name,
                "is_baseline": configuration == study_of().baseline_configuration(),
                "block": block,
                "outcome": outcome,
                "latency_p95_ms": latency,
                "throughput_mib_s": throughput,
            }
        )
        for block, (latency, throughput) in enumerate(zip(p95_ms, throughput_mib_s, strict=True))
    ]


def around(mean: float, spread: float = 0.05, blocks: int = 10, seed: int = 1) -> np.ndarray:
    values = np.random.default_rng(seed).normal(1.0, spread, blocks)
    return mean * values / values.mean()


def candidates(*configurations: dict, accepted: bool = True) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"configuration_id": configuration_id(c), "durability_accepted": accepted, "feasible": True, **c}
            for c in configurations
        ]
    )


def baseline(p95_ms: float = 100, throughput: float = 20, phase: Phase = "gain", blocks: int = 10) -> list[Repetition]:
    values = around(p95_ms, seed=2, blocks=blocks), around(throughput, seed=3, blocks=blocks)
    return repetitions(study_of().baseline_configuration(), *values, phase)


def decided(study: Study, gain: list[Repetition], choice: list[Repetition] | None = None) -> Decision:
    return decide(
        study,
        SIZE,
        configuration_id(FAST),
        candidates(FAST),
        choice_repetitions=choice or [],
        gain_repetitions=gain,
        rng=np.random.default_rng(1),
    )


def test_the_largest_product_of_both_gains_is_chosen():
    study = study_of()
    choice = [
        *baseline(phase="choice"),
        *repetitions(FAST, around(50), around(30), "choice"),
        *repetitions(OTHER, around(90), around(35), "choice"),
    ]
    assert choose(study, candidates(FAST, OTHER), choice) == configuration_id(FAST)


def test_the_baseline_is_chosen_when_nothing_beats_it():
    study = study_of()
    choice = [*baseline(phase="choice"), *repetitions(FAST, around(200), around(30), "choice")]
    assert choose(study, candidates(FAST), choice) == study.baseline_id()


def test_r1_chooses_the_steadiest_for_its_throughput():
    study = study_of(choose_by="r1")
    choice = [
        *baseline(phase="choice"),
        *repetitions(FAST, around(50), around(30, spread=0.2), "choice"),
        *repetitions(OTHER, around(90), around(25, spread=0.01), "choice"),
    ]
    assert choose(study, candidates(FAST, OTHER), choice) == configuration_id(OTHER)


def test_without_cvs_r1_falls_back_to_the_balanced_gain():
    study = study_of(choose_by="r1", choice_blocks=1)
    choice = [
        *baseline(phase="choice", blocks=1),
        *repetitions(FAST, [50], [30], "choice"),
        *repetitions(OTHER, [90], [31], "choice"),
    ]
    assert choose(study, candidates(FAST, OTHER), choice) == configuration_id(FAST)
    decision = decided(study, [], choice)
    assert (decision.chosen_by, decision.choice_asked_by) == ("balanced_gain", "r1")


def test_a_configuration_that_is_valid_in_less_than_four_fifths_of_the_blocks_is_not_chosen():
    study = study_of()
    study = study.model_copy(update={"protocol": study.protocol.model_copy(update={"minimum_valid_repetitions": 2})})

    def choice_with(valid: int) -> list[Repetition]:
        fast = repetitions(FAST, around(50), around(30), "choice")
        failed = [r.model_copy(update={"outcome": "failed"}) for r in fast[valid:]]
        return [*baseline(phase="choice"), *fast[:valid], *failed]

    assert choose(study, candidates(FAST), choice_with(8)) == configuration_id(FAST)
    assert choose(study, candidates(FAST), choice_with(7)) == study.baseline_id()


def test_a_configuration_is_scored_on_the_blocks_it_shares_with_the_baseline():
    study = study_of()
    study = study.model_copy(update={"protocol": study.protocol.model_copy(update={"minimum_valid_repetitions": 2})})
    hard = np.array([200.0] * 2 + [50.0] * 8)  # two blocks in which everything was slow, and in which FAST failed
    beside = repetitions(study.baseline_configuration(), hard, 1000 / hard, "choice")
    fast = repetitions(FAST, hard * 1.1, 900 / hard, "choice")
    fast = [*(r.model_copy(update={"outcome": "failed"}) for r in fast[:2]), *fast[2:]]
    assert choose(study, candidates(FAST), [*beside, *fast]) == study.baseline_id()


def test_a_pick_that_failed_more_often_than_the_baseline_is_not_recommended():
    gain = [*baseline(blocks=12), *repetitions(FAST, around(50, blocks=12), around(30, blocks=12))]
    gain[-1] = gain[-1].model_copy(update={"outcome": "failed"})
    decision = decided(study_of(), gain)
    assert decision.verdict == "keep_baseline_failed_more"
    assert (decision.repetitions_failed, decision.baseline_repetitions_failed) == (1, 0)
    gain[0] = gain[0].model_copy(update={"outcome": "failed"})
    assert decided(study_of(), gain).verdict == "recommended"


def test_a_configuration_that_lost_a_single_record_set_is_never_chosen():
    study = study_of(choice_blocks=9)
    lost = repetitions(FAST, [50], [30], "choice", "records_lost")
    study = study.model_copy(update={"protocol": study.protocol.model_copy(update={"minimum_valid_repetitions": 5})})
    choice = [*baseline(phase="choice"), *repetitions(FAST, around(50), around(30), "choice")[1:], *lost]
    assert choose(study, candidates(FAST), choice) == study.baseline_id()


def test_a_weaker_durability_than_accepted_is_never_chosen():
    study = study_of()
    choice = [*baseline(phase="choice"), *repetitions(WEAK, around(50), around(30), "choice")]
    assert choose(study, candidates(WEAK, accepted=False), choice) == study.baseline_id()


def test_too_few_valid_repetitions_are_not_chosen_from():
    study = study_of()
    choice = [*baseline(phase="choice"), *repetitions(FAST, around(50)[:4], around(30)[:4], "choice")]
    assert choose(study, candidates(FAST), choice) == study.baseline_id()


def test_equal_candidates_are_told_apart_by_their_id_whatever_the_order():
    study = study_of()
    choice = [
        *repetitions(OTHER, around(50), around(30), "choice"),
        *baseline(phase="choice"),
        *repetitions(FAST, around(50), around(30), "choice"),
    ]
    smaller = min(configuration_id(FAST), configuration_id(OTHER))
    assert choose(study, candidates(FAST, OTHER), choice) == smaller
    assert choose(study, candidates(OTHER, FAST), choice[::-1]) == smaller


def test_a_clear_gain_over_enough_blocks_is_recommended_with_its_size():
    decision = decided(study_of(), [*baseline(), *repetitions(FAST, around(50), around(30))])
    assert decision.verdict == "recommended"
    assert decision.recommended_configuration_id == configuration_id(FAST)
    assert decision.recommended_properties == {**FAST, "enable.idempotence": True}
    gains = {gain.objective: gain for gain in decision.gains}
    assert gains["p95_latency_ms"].change_fraction == pytest.approx(-0.5)
    assert gains["throughput_mib_s"].change_fraction == pytest.approx(0.5)
    assert gains["p95_latency_ms"].resolution == gains["throughput_mib_s"].resolution == "better"
    assert len(gains["p95_latency_ms"].candidate_repetition_ids) == decision.blocks_used == 10


def test_the_choice_blocks_do_not_enter_the_stated_gains():
    gain = [*baseline(), *repetitions(FAST, around(50), around(30))]
    lucky = [*baseline(phase="choice"), *repetitions(FAST, around(1), around(500), "choice")]
    # Block numbers of their own, so that none would be hidden behind a gain block of the same number.
    lucky = [repetition.model_copy(update={"block": repetition.block + 100}) for repetition in lucky]
    assert decided(study_of(), gain, lucky) == decided(study_of(), gain)


def test_the_same_clear_gain_over_too_few_blocks_keeps_the_baseline():
    gain = [*baseline(blocks=9), *repetitions(FAST, around(50, blocks=9), around(30, blocks=9))]
    decision = decided(study_of(), gain)
    assert decision.verdict == "keep_baseline_not_enough_evidence"
    assert decision.recommended_configuration_id == study_of().baseline_id()
    assert decision.tentative_configuration_id == configuration_id(FAST)
    assert "9 complete blocks" in decision.reasons[0]
    assert {gain.resolution for gain in decision.gains} == {"not resolved"}


def test_a_block_that_only_one_side_finished_is_not_evidence():
    gain = [*baseline()[1:], *repetitions(FAST, around(50), around(30))[:-1]]
    assert decided(study_of(), gain).blocks_used == 8


def test_more_throughput_at_the_price_of_latency_keeps_the_baseline():
    decision = decided(study_of(), [*baseline(), *repetitions(FAST, around(150), around(40))])
    assert decision.verdict == "keep_baseline_no_gain"
    assert "made p95 latency worse, although throughput improved" in decision.reasons[0]


def test_a_latency_that_doubles_in_every_block_to_the_millisecond_is_worse():
    still = repetitions(study_of().baseline_configuration(), [1.0] * 10, around(20, seed=3))
    doubled = repetitions(FAST, [2.0] * 10, around(30))
    decision = decided(study_of(), [*still, *doubled])
    assert decision.verdict == "keep_baseline_no_gain"
    assert "made p95 latency worse, although throughput improved" in decision.reasons[0]


def test_a_change_that_the_blocks_have_no_spread_to_judge_by_keeps_the_baseline():
    still = repetitions(study_of().baseline_configuration(), [1.0] * 5, around(20, seed=3, blocks=5))
    doubled = repetitions(FAST, [2.0] * 5, around(40, blocks=5))
    decision = decided(study_of(minimum_blocks=5), [*still, *doubled])
    assert decision.verdict == "keep_baseline_not_enough_evidence"
    assert "p95 latency may have changed" in decision.reasons[0]


def test_equal_latencies_to_the_millisecond_do_not_stand_against_a_gain():
    still = repetitions(study_of().baseline_configuration(), [1.0] * 10, around(20, seed=3))
    assert decided(study_of(), [*still, *repetitions(FAST, [1.0] * 10, around(30))]).verdict == "recommended"


def test_latencies_in_microseconds_are_balanced_below_half_a_millisecond():
    study = study_of()
    generator = study.protocol.model_copy(update={"load_tool": "load_generator"})
    choice = [
        *baseline(p95_ms=0.4, phase="choice"),
        *repetitions(FAST, around(0.2), around(21), "choice"),
        *repetitions(OTHER, around(0.4), around(25), "choice"),
    ]
    of_generator = study.model_copy(update={"protocol": generator})
    assert choose(of_generator, candidates(FAST, OTHER), choice) == configuration_id(FAST)
    assert choose(study, candidates(FAST, OTHER), choice) == configuration_id(OTHER)


def test_no_difference_keeps_the_baseline():
    same = repetitions(FAST, around(100, seed=5), around(20, seed=6))
    decision = decided(study_of(), [*baseline(), *same])
    assert decision.verdict == "keep_baseline_no_gain"
    assert {g.resolution for g in decision.gains if not g.objective.endswith("cv")} == {"no difference shown"}


def test_the_reason_tells_no_difference_from_what_the_budget_does_not_resolve():
    mixed = repetitions(FAST, around(100, spread=0.5, seed=5), around(20, seed=6))
    decision = decided(study_of(), [*baseline(), *mixed])
    assert decision.reasons == [
        "Fresh blocks show no gain: p95 latency is not resolved by this budget; "
        "throughput does not differ by more than 10%."
    ]


def test_gain_blocks_in_which_the_load_tool_set_the_pace_are_counted_on_both_sides():
    gain = [*baseline(), *repetitions(FAST, around(50), around(30))]
    for at in (0, 10, 11):
        gain[at] = gain[at].model_copy(update={"generator_bound": "the sending thread never waited"})
    choice = [r.model_copy(update={"generator_bound": "in a choice block"}) for r in baseline(phase="choice")]
    decision = decided(study_of(), gain, choice)
    assert (decision.generator_bound, decision.baseline_generator_bound) == (2, 1)


def test_a_wide_interval_is_called_unresolved_not_equal():
    noisy = repetitions(FAST, around(100, spread=0.5, seed=5), around(20, spread=0.5, seed=6))
    decision = decided(study_of(), [*baseline(), *noisy])
    assert {gain.resolution for gain in decision.gains if not gain.objective.endswith("cv")} == {"not resolved"}


def test_records_lost_in_a_gain_block_keep_the_baseline_however_fast_it_was():
    lost = repetitions(FAST, [50], [30], outcome="records_lost")
    decision = decided(study_of(), [*baseline(), *repetitions(FAST, around(50), around(30)), *lost])
    assert decision.verdict == "keep_baseline_lost_records"
    assert decision.repetitions_lost_records == 1


def test_stability_that_was_given_up_is_said():
    unsteady = repetitions(FAST, around(50, blocks=20), around(30, spread=0.3, blocks=20))
    decision = decided(study_of(), [*baseline(blocks=20), *unsteady])
    assert decision.verdict == "recommended"
    assert any(sentence.startswith("throughput CV is worse by") for sentence in decision.given_up)


def test_the_exempt_baseline_is_named_where_it_breaks_a_constraint():
    study = study_of()
    decision = decide(
        study,
        65636,
        study.baseline_id(),
        candidates(FAST),
        choice_repetitions=[],
        gain_repetitions=[],
        rng=np.random.default_rng(1),
    )
    assert decision.baseline_constraints_broken == ["batch.size >= record.size"]
    assert decision.verdict == "keep_baseline_no_gain"
    assert decision.recommended_properties == decision.baseline_properties


def test_a_gain_that_is_significant_alone_may_not_be_so_among_all_record_sizes():
    single = decided(study_of(), [*baseline(), *repetitions(FAST, around(50), around(30))])

    def with_p(decision: Decision, p_value: float) -> Decision:
        gains: list[Gain] = [gain.model_copy(update={"p_value": p_value}) for gain in decision.gains]
        return decision.model_copy(update={"gains": gains})

    borderline = with_p(single, 0.01)
    assert adjust_across_record_sizes([borderline])[0].verdict == "recommended"
    among_five = adjust_across_record_sizes([borderline] * 5)
    assert {decision.verdict for decision in among_five} == {"keep_baseline_no_gain"}
    assert among_five[0].gains[0].p_value_holm == pytest.approx(0.2)


def test_the_same_evidence_gives_the_same_decision_and_survives_the_store():
    gain = [*baseline(), *repetitions(FAST, around(50), around(30))]
    decision = decided(study_of(), gain)
    assert decided(study_of(), gain) == decision
    assert decode_record(decision.model_dump_json().encode(), "decision.json", Decision) == decision


def test_halves_of_the_recorded_baseline_recommend_nothing():
    study = study_of(minimum_blocks=5)
    recorded = recorded_repetitions((SIZE,), configurations=0, phase="gain")
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
