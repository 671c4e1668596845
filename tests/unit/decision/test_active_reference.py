from __future__ import annotations

import re

import pytest

from kafka_pareto.analysis.sentinel import SentinelReport
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.decision.choice import Choice, choose
from kafka_pareto.decision.decide import decide
from kafka_pareto.decision.decision import ActiveReference, Decision, FoundActiveSettings
from kafka_pareto.drivers.producer.declaration import DRIVER as PRODUCER
from kafka_pareto.report.card_context import CardContext
from kafka_pareto.report.card_layout import WIDTH, card_text
from kafka_pareto.report.cards import (
    baseline_gain_rows,
    gain_rows,
    notes_of,
    properties_text,
    settings_rows,
    warnings_of,
)
from kafka_pareto.report.reasons import headline_of, reason_of
from kafka_pareto.report.summary import summary_sentences
from kafka_pareto.storage.record import decode_record
from kafka_pareto.study.constraints import Constraint
from kafka_pareto.study.factors import configuration_id
from kafka_pareto.study.objectives import Limit
from kafka_pareto.study.tune import Tune
from tests.unit.deciding import CASE, FAST, OTHER, around, baseline, candidates, repetitions, study_of
from tests.unit.made_gains import WIDEST

pytestmark = pytest.mark.fast

FAST_ID, OTHER_ID = configuration_id(FAST), configuration_id(OTHER)


def active_settings(**changes: object) -> ActiveReference:
    known = {"configuration_id": OTHER_ID, "configuration": OTHER, "properties": study_of().properties(OTHER)}
    found = ActiveReference(version=3, campaign="c0", durability="acks_all_idempotent", **known)
    return found.model_copy(update=changes)


def other(p95_ms: float, throughput: float, phase: str = "gain", blocks: int = 10) -> list[Repetition]:
    values = around(p95_ms, blocks=blocks, seed=7), around(throughput, blocks=blocks, seed=8)
    return repetitions(OTHER, *values, phase)


def fast(p95_ms: float, throughput: float, phase: str = "gain", blocks: int = 10) -> list[Repetition]:
    values = around(p95_ms, blocks=blocks, seed=5), around(throughput, blocks=blocks, seed=6)
    return repetitions(FAST, *values, phase)


def decided(
    gain: list[Repetition],
    chosen_id: str = FAST_ID,
    study: Tune | None = None,
    final: list[Repetition] | None = None,
    found: FoundActiveSettings | None = None,
) -> Decision:
    return decide(
        study or study_of(),
        CASE,
        Choice(configuration_id=chosen_id, chosen_by="balanced_gain"),
        candidates(FAST),
        choice_repetitions=[],
        gain_repetitions=gain,
        final_repetitions=final or [],
        found=found or FoundActiveSettings(newest_version=3, settings=active_settings()),
    )


def chosen(study: Tune, measured: list[Repetition], in_force_id: str | None = OTHER_ID) -> str:
    return choose(study, candidates(FAST), [*baseline(phase="choice"), *measured], in_force_id).configuration_id


def test_a_candidate_that_beats_the_baseline_but_not_the_active_settings_is_not_chosen():
    measured = [*fast(80, 25, "choice"), *other(50, 30, "choice")]
    assert (chosen(study_of(), measured), chosen(study_of(), measured, None)) == (OTHER_ID, FAST_ID)


def test_a_baseline_that_beats_the_active_settings_is_chosen_like_any_candidate_unless_it_breaks_a_constraint():
    strict = study_of().model_copy(update={"constraints": [Constraint.parse("batch.size >= 20000")]})
    measured = [*fast(300, 5, "choice"), *other(200, 10, "choice")]
    assert chosen(study_of(), measured) == study_of().baseline_id()
    assert chosen(strict, measured) == OTHER_ID


def test_active_settings_that_miss_a_limit_do_not_compete():
    limited = study_of().model_copy(update={"limits": [Limit.parse("p95_latency_ms <= 90")]})
    measured = [*baseline(phase="choice"), *fast(80, 21, "choice"), *other(95, 60, "choice")]
    choice = choose(limited, candidates(FAST), measured, OTHER_ID)
    assert choice.configuration_id == FAST_ID
    assert [str(each.limit) for each in choice.in_force_limits_missed] == ["p95_latency_ms <= 90"]


def test_better_than_the_baseline_and_worse_than_the_active_settings_keeps_them_active():
    decision = decided([*baseline(), *fast(80, 25), *other(50, 30)])
    assert decision.verdict == "keep_harmed"
    assert decision.recommended_configuration_id == OTHER_ID
    assert decision.recommended_properties == study_of().properties(OTHER)
    assert headline_of(decision).startswith("KEEP THE ACTIVE SETTINGS")
    assert reason_of(decision) == "The pick made p95 latency and throughput worse than active version 3."
    over_baseline = {gain.objective: gain.change_fraction for gain in decision.gains_over_baseline}
    assert over_baseline["p95_latency_ms"] == pytest.approx(-0.2, abs=0.001)
    assert over_baseline["throughput_mib_s"] == pytest.approx(0.25, abs=0.01)


def test_no_better_than_the_active_settings_keeps_them_active_with_its_own_verdict():
    decision = decided([*baseline(blocks=20), *fast(50, 30, blocks=20), *other(50, 30, blocks=20)])
    assert decision.verdict == "keep_no_gain"
    assert headline_of(decision) == "KEEP THE ACTIVE SETTINGS: no relevant difference"
    assert "No significant gain over active version 3" in reason_of(decision)
    assert "Keep the active settings" in summary_sentences([decision], PRODUCER)[0]
    text = properties_text(decision, study_of(), "c1", "2026-11-23")
    assert "(unchanged: this is active version 3)" in text
    assert "# The pick is not in this file.\n# No significant gain over active version 3" in text
    assert f"batch.size={OTHER['batch.size']}" in text


def test_better_than_the_active_settings_replaces_them_and_shows_the_change_against_the_baseline():
    decision = decided([*baseline(), *fast(40, 40), *other(50, 30)])
    assert decision.verdict == "recommended"
    assert reason_of(decision) == "In fresh blocks, p95 latency and throughput improved over active version 3."
    assert gain_rows(decision)[0][1] == "active (v3)"
    header, p95, *_ = baseline_gain_rows(decision)
    assert (header[1], header[4]) == ("baseline", "95 % interval, joint within this table")
    assert p95[3] == "-60.0 %"
    assert (
        '"better" and "worse" mean that the interval excludes 0 %. The intervals use all 10 fresh blocks and hold '
        "jointly at 95 % over all objectives and record sizes; except for the CVs, they stay valid under early "
        "stopping. The "
        "comparison with the baseline is not included."
    ) in notes_of(decision)
    assert settings_rows(decision)[0] == ("Settings", "recommended", "active (v3)", "baseline", "")
    assert decode_record(decision.model_dump_json().encode(), "decision.json", Decision) == decision


def test_the_baseline_as_the_pick_goes_back_to_it():
    decision = decided([*baseline(50, 40), *other(100, 20)], study_of().baseline_id())
    assert decision.verdict == "recommended"
    assert decision.recommended_configuration_id == study_of().baseline_id()
    assert decision.gains_over_baseline == []
    assert decision.pick_counts == decision.baseline_counts


def test_active_settings_that_break_a_current_constraint_are_named_on_the_card():
    limited = study_of().model_copy(update={"limits": [Limit.parse("throughput_mib_s >= 35")]})
    decision = decided([*baseline(), *fast(40, 40), *other(50, 30)], study=limited)
    assert decision.active_breaks_rules
    warning = "Active version 3 violates the limit throughput_mib_s >= 35 (30.0 MiB/s, 14.3 % beyond)."
    assert any(warning in each for each in warnings_of(decision))


def test_active_settings_that_do_not_count_are_named_with_the_difference():
    found = FoundActiveSettings(newest_version=2, left_out=["workload.keys: 0 then, 10 now"])
    decision = decided([*baseline(), *fast(50, 30)], found=found)
    assert decision.in_force is None
    assert decision.newest_version == 2
    assert "version 2 is active but was not the reference here: workload.keys: 0 then, 10 now." in notes_of(decision)


def test_active_settings_that_lose_records_do_not_compete_and_need_approval():
    lossy = [each.model_copy(update={"outcome": "records_lost"}) for each in other(50, 60, "choice")[:1]]
    assert chosen(study_of(), [*fast(80, 25, "choice"), *other(50, 60, "choice")[1:], *lossy]) == FAST_ID
    gain = [*baseline(), *fast(40, 40), *other(50, 30)]
    gain[-1] = gain[-1].model_copy(update={"outcome": "records_lost"})
    decision = decided(gain)
    assert decision.active_breaks_rules
    assert "violates the rule against lost records" in warnings_of(decision)[0]


def test_a_little_worse_than_each_version_before_does_not_add_up_unasked():
    # Better than the active settings in both, and yet a quarter slower than the baseline.
    decision = decided([*baseline(100, 20), *fast(125, 60), *other(140, 30)])
    assert decision.better == ["p95_latency_ms", "throughput_mib_s"]
    assert decision.verdict == "ask_a_person"
    assert re.search(r"p95 latency could be up to \d+ % worse than the baseline's", reason_of(decision))
    assert headline_of(decision) == "APPROVAL REQUIRED: better, but a regression is possible"


def test_regression_against_the_baseline_is_reported_after_the_blocks_with_both():
    decision = decided([*baseline(100, 20, blocks=12), *fast(125, 60, blocks=12), *other(140, 30)])
    assert decision.blocks_used == 10
    assert re.search(
        r"After 12 blocks, p95 latency could be up to \d+ % worse than the baseline's", reason_of(decision)
    )


def test_means_without_an_interval_are_said_to_have_too_few_blocks():
    decision = decided([*baseline(), *fast(40, 40), *other(50, 30)])
    unknown = {"change_low_fraction": None, "change_high_fraction": None, "resolution": "not resolved"}
    gains = [decision.gains[0].model_copy(update=unknown), *decision.gains[1:]]
    unjudged = decision.model_copy(update={"gains": gains, "verdict": "keep_not_enough_evidence"})
    assert reason_of(unjudged) == "Not enough evidence: too few blocks for an interval of p95 latency."


def test_a_claim_of_the_gain_blocks_that_final_ones_contradict_is_withdrawn():
    later = [*baseline(phase="final"), *fast(150, 60, "final"), *other(50, 30, "final")]
    final = [each.with_values({"block": each.block + 10}) for each in later]
    gain = [*baseline(), *fast(40, 60), *other(50, 30)]
    assert decided(gain).better == ["p95_latency_ms", "throughput_mib_s"]
    decision = decided(gain, final=final)
    assert (decision.blocks_used, decision.final_blocks) == (20, 10)
    assert decision.better == ["throughput_mib_s"]
    assert decision.verdict == "ask_a_person"


def test_the_widest_values_and_a_two_digit_version_keep_the_card_within_its_columns():
    decision = decided([*baseline(), *fast(40, 40), *other(50, 30)])
    wide = {
        name: [gain.model_copy(update=WIDEST) for gain in getattr(decision, name)]
        for name in ("gains", "gains_over_baseline")
    }
    card = decision.model_copy(update={**wide, "in_force": active_settings(version=42)})
    sentinel = SentinelReport(repetition_ids=[], series=[])
    unknown_parts = dict.fromkeys(("sizing", "noise", "breakdown"))
    of_case = {"case": CASE, "variability": "across_repetitions", "repetitions_set_aside": 0}
    context = CardContext(sentinel=sentinel, **of_case, **unknown_parts)
    text = card_text(card, context, "20261121T221230")
    assert "active (v42)" in text
    assert max(map(len, text.splitlines())) <= WIDTH
