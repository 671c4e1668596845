from __future__ import annotations

import itertools
import re
from functools import cache

import pandas as pd
import pytest

from kafka_pareto.analysis.wording import resolution_text
from kafka_pareto.campaign.records import RampStep, Repetition, Sizing
from kafka_pareto.decision.choice import Choice, MissedLimit
from kafka_pareto.decision.counts import Counts
from kafka_pareto.decision.decide import decide
from kafka_pareto.decision.decision import Decision
from kafka_pareto.drivers.producer.declaration import DRIVER as PRODUCER
from kafka_pareto.kafka.properties_file import parse_properties
from kafka_pareto.report.card_context import CardContext, card_context
from kafka_pareto.report.card_layout import WIDTH, card_parts, cards_text
from kafka_pareto.report.cards import Cards, properties_text
from kafka_pareto.report.summary import summary_sentences
from kafka_pareto.study.constraints import ForbiddenRegion
from kafka_pareto.study.factors import configuration_id
from kafka_pareto.study.objectives import ChooseBy, Lexicographic, Limit, Weighted
from kafka_pareto.study.study import Study
from tests.recorded import paper_study, recorded_repetitions
from tests.tasks.report_campaign import at_time, with_client_metrics
from tests.unit.made_gains import WIDEST

pytestmark = pytest.mark.fast

CASE = "65636"


@pytest.fixture(scope="module")
def study() -> Study:
    return paper_study()


@cache
def recorded_decision(acks: str, case: str = CASE, blocks: int = 10) -> Decision:
    """Compare the recorded baseline with the first recorded configuration with these acks."""
    recorded = recorded_repetitions((case,), blocks=blocks, phase="gain")
    pick = next(r for r in recorded if r.configuration["acks"] == acks and not r.is_baseline)
    row = {"configuration_id": pick.configuration_id, "durability_accepted": True, "feasible": True}
    return decide(
        paper_study(),
        case,
        Choice(configuration_id=pick.configuration_id, chosen_by="r1"),
        pd.DataFrame([{**row, **pick.configuration}]),
        choice_repetitions=[],
        gain_repetitions=recorded,
    )


def context_of(
    decision: Decision,
    design: list[Repetition] | None = None,
    noise: list[Repetition] | None = None,
    confirmation: list[Repetition] | None = None,
    **changes: object,
) -> CardContext:
    recorded = confirmation or recorded_repetitions((decision.case,), phase="gain")
    context = card_context(
        paper_study(),
        decision,
        design=design or [],
        confirmation=[with_client_metrics(repetition) for repetition in recorded],
        discarded=[],
        sizing=None,
        noise=None,
        noise_repetitions=noise or [],
    )
    return context.model_copy(update=changes)


def text_of(*decisions: Decision, contexts: list[CardContext] | None = None) -> str:
    found = contexts or [context_of(decision) for decision in decisions]
    return cards_text(Cards(study="paper", campaign="20261121-recorded", cards=list(decisions), contexts=found))


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.slow
def test_cards_are_plain_ascii_within_a_hundred_columns():
    text = text_of(*(recorded_decision(acks, case) for acks in ("0", "1", "all") for case in ("1024", CASE)))
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= WIDTH


def test_a_card_states_both_values_the_change_and_its_interval_for_every_objective():
    decision = recorded_decision("all")
    lines = text_of(decision).splitlines()
    assert len(decision.gains) == 4
    for gain, label in zip(decision.gains, ("p95 latency", "throughput", "latency CV", "throughput CV"), strict=True):
        (line,) = [line for line in lines if line.startswith(f"  {label}  ")]
        assert gain.reference_value is not None
        assert gain.change_fraction is not None
        decimals = 3 if label.endswith("CV") else 1
        assert f"{gain.reference_value:.{decimals}f}" in line
        assert " to " in line
        assert resolution_text(gain) in line


def limited(repetitions: list[Repetition], codes: dict[str, list[str | None]]) -> list[Repetition]:
    """Assign these verdicts to each configuration's repetitions in turn."""
    endless = {name: itertools.cycle(given) for name, given in codes.items()}
    return [
        each.model_copy(update={"quantities": {**each.quantities, "limited_by": next(endless[each.configuration_id])}})
        if each.configuration_id in endless
        else each
        for each in repetitions
    ]


@pytest.mark.parametrize(
    ("of_pick", "said"),
    [
        ([""], "CPU (baseline), none found (pick)."),
        (["disk", "disk", "network"], "CPU (baseline), the brokers' disk (pick)."),
        (["disk", "network", "gc"], "CPU (baseline), none found (pick)."),
        ([None], "CPU (baseline)."),
        (["cpu"], "CPU (baseline, pick)."),
    ],
)
def test_a_card_names_the_bottleneck_of_at_least_half_of_each_sides_repetitions(of_pick: list[str | None], said: str):
    decision = recorded_decision("all")
    assert decision.pick_configuration_id
    codes = {decision.baseline_configuration_id: ["cpu"], decision.pick_configuration_id: of_pick}
    context = context_of(decision, confirmation=limited(recorded_repetitions((CASE,), phase="gain"), codes))
    assert f"Limited by {said}" in flat(text_of(decision, contexts=[context]))
    parts = card_parts(decision, context, "20261121-recorded")
    assert parts.context["Limited by"] == [said]
    assert CardContext.model_validate_json(context.model_dump_json()) == context


def test_a_card_from_before_the_verdict_says_nothing_of_limits():
    decision = recorded_decision("all")
    stored = context_of(decision).model_dump(exclude={"limited_by"})
    context = CardContext.model_validate(stored)
    assert "Limited by" not in text_of(decision, contexts=[context])


def test_the_widest_values_of_every_column_keep_the_card_within_its_columns():
    decision = recorded_decision("all")
    widest = {**WIDEST, "resolution": "better"}
    gains = [gain.model_copy(update=widest) for gain in decision.gains]
    text = text_of(decision.model_copy(update={"gains": gains, "verdict": "recommended"}))
    assert "99,999 MiB/s" in text
    assert "-99.9 to >9,900 %" in text
    assert max(map(len, text.splitlines())) <= WIDTH


def test_a_recommendation_warns_of_the_objective_that_it_leaves_unresolved():
    decision = recorded_decision("all")
    p95, throughput, *others = decision.gains
    p95 = p95.model_copy(
        update={"resolution": "not resolved", "change_low_fraction": -0.1, "change_high_fraction": 0.8}
    )
    gains = [p95, throughput.model_copy(update={"resolution": "better"}), *others]
    unresolved = decision.model_copy(update={"gains": gains, "verdict": "recommended"})
    warning = "the p95 latency change is inconclusive: -10.0 to +80.0 %"
    assert warning in flat(text_of(unresolved))
    assert warning in properties_text(unresolved, paper_study(), "c", "2026-11-21")
    assert warning not in flat(text_of(unresolved.model_copy(update={"verdict": "keep_no_gain"})))
    without = p95.model_copy(update={"change_low_fraction": None, "change_high_fraction": None})
    assert "the p95 latency change is inconclusive" not in flat(
        text_of(unresolved.model_copy(update={"gains": [without, *gains[1:]]}))
    )


def test_the_sentinel_is_tested_from_the_noise_repetitions_on():
    decision = recorded_decision("all")
    noise = [at_time(r, day=0) for r in recorded_repetitions((CASE,), phase="noise") if r.is_baseline]
    report = context_of(decision, noise=noise).sentinel
    assert report.repetition_ids[0] == noise[0].repetition_id
    assert len(report.repetition_ids) == len(context_of(decision).sentinel.repetition_ids) + len(noise)


def test_a_weaker_durability_is_warned_of_loudly():
    assert "WARNING" not in text_of(recorded_decision("all"))
    weaker = text_of(recorded_decision("0"))
    assert "WARNING" in weaker
    assert "durability guarantee is WEAKER" in weaker
    assert "durability: acks_0 instead of acks_all_idempotent" in weaker


def test_failed_repetitions_and_another_criterion_than_the_studys_are_reported():
    decision = recorded_decision("all")
    assert "failed in" not in text_of(decision)
    failing = {
        "pick_counts": Counts(repetitions=40, lost_records=0, failed=3, repeated=2),
        "baseline_counts": Counts(repetitions=40, lost_records=0, failed=1),
        "chosen_by": "balanced_gain",
    }
    text = flat(text_of(decision.model_copy(update=failing)))
    assert "the pick failed in 3 repetitions of 40; its failure rate may be up to 18 %." in text
    assert "the baseline failed in 1 repetition of 40; its failure rate may be up to 11 %." in text
    assert "2 valid repetitions of the pick needed another attempt" in text
    assert "selection criterion: the balanced gain (throughput and p95 latency), not R1" in text


def test_the_exemption_of_the_baseline_is_reported():
    assert "constraint batch.size >= record.size" in flat(text_of(recorded_decision("all")))
    assert "constraint" not in text_of(recorded_decision("all", "1024"))


def test_too_few_blocks_say_not_enough_evidence_and_keep_the_settings():
    decision = recorded_decision("all", blocks=2)
    text = text_of(decision)
    assert "KEEP THE BASELINE: not enough evidence" in text
    assert "baseline (keep)" in text
    assert "unknown: not enough evidence" in text
    assert "none found" not in text
    assert parse_properties(properties_text(decision, paper_study(), "c", "2026-11-21"))["batch.size"] == "16384"


def test_the_properties_file_reads_back_as_the_recommended_settings():
    decision = resolved_as(recorded_decision("all"))
    text = properties_text(decision, paper_study(), "20261121-recorded", "2026-11-21")
    assert "not in this file" not in text
    expected = {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in (decision.pick_properties or {}).items()
    }
    assert parse_properties(text) == expected
    assert "campaign 20261121-recorded" in text
    assert "2026-11-21" in text


def test_no_text_can_smuggle_a_setting_into_the_properties_file():
    missed = [MissedLimit(limit=Limit.parse("p95_latency_ms <= 50"), value=139.6)]
    nothing_keeps = {"pick_configuration_id": None, "limits_missed": missed, "nearest_configuration_id": "c\nacks=0"}
    decision = recorded_decision("all").model_copy(update={**nothing_keeps, "verdict": "keep_limits_missed"})
    study = paper_study().model_copy(update={"name": "paper\nacks=0"})
    text = properties_text(decision, study, "c\racks=0", "2026-11-21")
    assert parse_properties(text)["acks"] == "all"
    assert not any(line.startswith("acks=0") for line in text.splitlines())


def test_the_first_and_last_repetition_behind_the_numbers_are_named():
    decision = recorded_decision("all")
    gain = decision.gains[0]
    text = text_of(decision)
    for ids in (gain.reference_repetition_ids, gain.candidate_repetition_ids):
        assert ids[0] in text
        assert ids[-1] in text


def test_without_a_pick_the_card_shows_only_the_baseline(study: Study):
    decision = decide(
        study,
        "1024",
        Choice(configuration_id=study.baseline_id(), chosen_by="r1"),
        pd.DataFrame(columns=["configuration_id", "durability_accepted", "feasible"]),
        choice_repetitions=[],
        gain_repetitions=[],
    )
    text = text_of(decision)
    assert "baseline (keep)" in text
    assert "Measured" not in text
    assert "Trade-offs" not in text
    assert decision.recommended_configuration_id == configuration_id(study.baseline_configuration())


def test_a_card_shows_the_latency_breakdown_and_the_picks_differences():
    decision = recorded_decision("all", "1024")
    context = context_of(decision)
    text = text_of(decision, contexts=[context])
    assert context.breakdown is not None
    assert context.breakdown.pick is not None
    (line,) = [line for line in text.splitlines() if line.startswith("  records per request")]
    assert f"{context.breakdown.reference.records_per_request_avg:.3g}" in line
    assert f"{context.breakdown.pick.records_per_request_avg:.3g}" in line
    assert "Explanation" in text


def test_even_latencies_of_minutes_keep_the_card_within_its_columns():
    decision = recorded_decision("all")
    found = context_of(decision).breakdown
    assert found is not None
    assert found.pick is not None
    slow = {f"latency_{name}_ms": 99_999.0 for name in ("p50", "p95", "p99", "p999", "p9999", "from_send_p95")}
    slower = found.model_copy(
        update={side: getattr(found, side).model_copy(update=slow) for side in ("reference", "pick")}
    )
    text = text_of(decision, contexts=[context_of(decision, breakdown=slower)])
    assert "99,999 / 99,999 / 99,999 / 99,999" in text
    assert max(map(len, text.splitlines())) <= WIDTH


def test_without_the_clients_metrics_a_card_says_nothing_of_them():
    decision = recorded_decision("all")
    text = text_of(decision, contexts=[context_of(decision, breakdown=None)])
    assert "Where latency goes" not in text
    assert "Explanation" not in text


def test_settings_in_use_that_changed_during_the_campaign_are_warned_of():
    decision = recorded_decision("all")
    own = [repetition for repetition in recorded_repetitions((CASE,)) if repetition.is_baseline]
    slower = {"latency_p95_ms": 900.0, "throughput_mib_s": 3.0}
    before = [at_time(r, day=1) for r in own]
    after = [at_time(r.with_values({name: value + r.block for name, value in slower.items()}), day=2) for r in own]
    moved = context_of(decision, design=[*before, *after])
    assert moved.sentinel.moved
    assert "WARNING the baseline drifted" in flat(text_of(decision, contexts=[moved]))
    assert "did not stay the same" not in text_of(decision)


def test_a_load_generator_bottleneck_gives_a_warning():
    decision = recorded_decision("all")
    assert "the load generator, not Kafka" not in flat(text_of(decision))
    counts = decision.pick_counts.model_copy(update={"generator_bound": 7})
    bound = decision.model_copy(update={"pick_counts": counts})
    assert "in 7 of 10 fresh blocks the load generator, not Kafka, was the bottleneck for the pick" in flat(
        text_of(bound)
    )


def test_a_card_says_which_rate_was_asked_and_of_which_capacity():
    decision = recorded_decision("all")
    step = RampStep(asked_records_s=1140.0, held_records_s=1139.0, latency_p95_ms=5.0, sustained=True)
    sizing = Sizing(
        records=6000, warmup_records=500, throughput_limit_records_s=570.0, capacity_records_s=1140.0, ramp=[step]
    )
    text = flat(text_of(decision, contexts=[context_of(decision, sizing=sizing, repetitions_set_aside=2)]))
    assert "570 records/s: 50 % of the baseline's sustainable throughput (1,140; found by a ramp of 1 step)." in text
    assert "on the machine: 2 repetitions." in text


def test_a_card_names_the_sample_of_its_cvs():
    decision = recorded_decision("all")
    within = context_of(decision, variability="within_run")
    assert "CVs are computed across repetitions" in flat(text_of(decision))
    assert "CVs are computed within each run" in flat(text_of(decision, contexts=[within]))


def test_inconclusive_objectives_are_listed_with_the_blocks_needed():
    decision = recorded_decision("all")
    p95, throughput, latency_cv, throughput_cv = (
        gain.model_copy(update={"resolution": "not resolved"}) for gain in decision.gains
    )
    gains = [
        p95.model_copy(update={"resolution": "better", "blocks_to_tell": None}),
        throughput.model_copy(update={"blocks_to_tell": 1234}),
        latency_cv.model_copy(update={"blocks_to_tell": None}),
        throughput_cv.model_copy(update={"change_low_fraction": None, "blocks_to_tell": None}),
    ]
    text = flat(text_of(decision.model_copy(update={"gains": gains})))
    assert (
        "Unresolved blocks needed if the measured changes are accurate (10 so far): "
        "throughput about 1,200, latency CV more than 100,000. No estimate of the blocks needed: throughput CV."
    ) in text
    assert "p95 latency about" not in text
    assert "Unresolved" not in text_of(recorded_decision("all", blocks=2))


def test_a_card_says_how_the_choice_was_made():
    def said(criterion: ChooseBy) -> str:
        decision = recorded_decision("all")
        return flat(text_of(decision.model_copy(update={"chosen_by": criterion, "choice_asked_by": criterion})))

    order = Lexicographic(lexicographic=["p95_latency_ms", "throughput_mib_s"], within_fraction=0.05)
    assert "selection criterion: p95 latency first, then throughput among those within 5 % of the best." in said(order)
    assert "selection criterion: p95 latency alone." in said(Lexicographic(lexicographic=["p95_latency_ms"]))
    weighted = Weighted(weights={"p95_latency_ms": 2, "throughput_mib_s": 1.5})
    assert "selection criterion: the weighted gains (2 x p95 latency and 1.5 x throughput)." in said(weighted)


def test_a_steadiness_that_was_chosen_by_and_that_fresh_blocks_do_not_show_is_reported():
    decision = recorded_decision("all")
    *others, throughput_cv = decision.gains
    assert "throughput CV, part of the selection criterion, did not improve significantly" in flat(text_of(decision))
    steadier = decision.model_copy(
        update={"gains": [*others, throughput_cv.model_copy(update={"resolution": "better"})]}
    )
    assert "part of the selection criterion" not in flat(text_of(steadier))


def test_the_exemption_from_limits_and_forbidden_regions_is_reported():
    broken = {
        "baseline_limits_missed": [MissedLimit(limit=Limit.parse("p95_latency_ms <= 50"), value=139.6)],
        "baseline_in_forbidden": [ForbiddenRegion.parse("linger.ms < 50 and acks == all")],
    }
    text = flat(text_of(recorded_decision("all").model_copy(update=broken)))
    assert "baseline violates the study's limit p95_latency_ms <= 50 (139.6 ms, 179.2 % beyond)" in text
    assert "baseline lies in the study's forbidden region linger.ms < 50 and acks == all" in text


def test_the_summary_names_the_record_sizes_whose_limits_nothing_keeps_and_the_steadiness_that_was_gained():
    decision = recorded_decision("all")
    missed = decision.model_copy(update={"verdict": "keep_limits_missed"})
    assert "The study's limits are not met for 1 record size; see the cards." in " ".join(
        summary_sentences([missed], PRODUCER)
    )
    better = {"resolution": "better", "change_fraction": -0.5}
    gains = [*decision.gains[:3], decision.gains[3].model_copy(update=better)]
    steadier = decision.model_copy(update={"gains": gains, "verdict": "recommended"})
    assert "throughput CV -50 %." in " ".join(summary_sentences([steadier], PRODUCER))


def summary_of(*decisions: Decision) -> str:
    sentences = summary_sentences(decisions, PRODUCER)
    assert 2 <= len(sentences) <= 3
    assert all(sentence.endswith(".") for sentence in sentences)
    return " ".join(sentences)


def resolved_as(decision: Decision, **resolutions: str) -> Decision:
    gains = [
        gain.model_copy(update={"resolution": resolutions.get(gain.objective, "better")}) for gain in decision.gains
    ]
    return decision.model_copy(update={"gains": gains, "verdict": "recommended"})


def test_the_summary_lists_changes_and_kept_settings_by_record_size():
    changed = resolved_as(recorded_decision("all"))
    kept = recorded_decision("all", "1024").model_copy(update={"verdict": "keep_no_gain"})
    both = summary_of(kept, changed)
    assert both.startswith("Change the producer settings for 1 of 2 record sizes (65,636 B), and keep the baseline for")
    p95_worse = resolved_as(recorded_decision("all", "1024"), p95_latency_ms="no difference shown")
    assert re.search(r"p95 latency [+-]\d+ % \(for 1 record size\)", summary_of(changed, p95_worse))
    assert "(for" not in summary_of(changed)
    assert summary_of(changed).startswith("Change the producer settings for every record size: 65,636 B. Compared")
    assert summary_of(kept).startswith("Keep the baseline: this campaign recommends no change for any")


def test_the_summary_never_calls_a_weaker_promise_kept_and_says_who_must_approve_it():
    weaker = resolved_as(recorded_decision("0")).model_copy(update={"weaker_than_baseline": True})
    said = summary_of(weaker)
    assert "Warning: for 65,636 B the recommended settings have a weaker durability guarantee than the baseline" in said
    assert "They become active only after approval" in said
    assert "is not weakened" not in said
    assert "The durability guarantee is not weakened" in summary_of(resolved_as(recorded_decision("all")))


def test_the_summary_lists_regressions_and_unknowns():
    decision = recorded_decision("all")
    assert "and no regressions were found." in summary_of(resolved_as(decision))
    unsteady = resolved_as(decision, latency_cv="worse")
    assert "variability is worse for 1 record size." in summary_of(unsteady)
    unknown = resolved_as(decision, throughput_mib_s="not resolved")
    said = summary_of(unknown, resolved_as(decision))
    assert "but throughput is inconclusive for 1 record size." in said
    assert "throughput +" not in summary_of(unknown)


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"verdict": "keep_lost_records"}, "For 1 record size the pick lost or duplicated records."),
        ({"verdict": "keep_failed_more"}, "For 1 record size the pick failed more often."),
        (
            {"verdict": "keep_not_enough_evidence", "blocks_used": 4},
            "Not enough evidence for 1 of 1 record size: the study requires 10 fresh blocks and has 4.",
        ),
        (
            {"verdict": "keep_not_enough_evidence"},
            "Not enough evidence for 1 of 1 record size: too few blocks for an interval.",
        ),
        ({"verdict": "ask_a_person"}, "improve an objective but need approval; see the cards for the reason."),
    ],
)
def test_the_summary_says_why_nothing_changes(changes: dict[str, object], found: str):
    kept = recorded_decision("all").model_copy(update=changes)
    assert found in summary_of(kept)
    assert summary_of(kept).startswith("Keep the baseline: ")
