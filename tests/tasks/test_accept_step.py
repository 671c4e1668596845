"""Accept recommendations: which settings become active, who must approve, and the notices."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.decision.counts import Counts
from kafka_pareto.decision.decision import ActiveReference
from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.properties_file import property_text
from kafka_pareto.rollout.approvals import Answer, last_answer
from kafka_pareto.rollout.messages import Promised, approval_text
from kafka_pareto.rollout.versions import active_cases, versions
from kafka_pareto.steps import roll_back
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.options import Wanted
from tests.tasks.accepting import (
    CASE,
    FORMS,
    OTHER_CASE,
    STUDY,
    accepted,
    accepting_campaign,
    change_decision,
    change_trial,
    decision_of,
    durable_id,
    exported,
    newest,
    other_id,
    pick,
    recommend,
    trials_of,
)

pytestmark = pytest.mark.fast


@pytest.fixture
def another(campaign: Campaign, reported_store: Path) -> Campaign:
    """A further campaign in the same store, with the same recommendation."""
    found = accepting_campaign(reported_store, Path(campaign.store._folder), "another")
    recommend(found, durable_id(found))
    return found


def notice_of(manifest: Manifest) -> tuple[str, str]:
    assert manifest.notice
    return manifest.notice.kind, manifest.notice.text


def test_a_recommendation_becomes_active_with_its_evidence_and_the_previous_settings(campaign: Campaign) -> None:
    accepted(campaign, Wanted())
    decision, settings = decision_of(campaign), newest(campaign)
    assert (settings.version, settings.previous_version, settings.came_by) == (1, None, "recommended")
    assert settings.properties == decision.recommended_properties
    assert settings.previous_properties == decision.baseline_properties
    assert settings.gains == decision.gains
    assert settings.campaign == campaign.keys.campaign
    assert settings.fingerprint.system["kafka_version"] == "4.3.1"
    assert settings.configuration_id == decision.recommended_configuration_id


def test_keeping_the_baseline_moves_nothing(campaign: Campaign) -> None:
    manifest = accepted(campaign, Wanted())
    assert active_cases(campaign.store, STUDY) == [CASE] == manifest.cases
    assert "1,024 B: KEEP THE BASELINE" in notice_of(manifest)[1]


def test_a_campaign_without_any_gain_says_so_and_moves_nothing(campaign: Campaign) -> None:
    change_decision(campaign, verdict="keep_no_gain")
    manifest = accepted(campaign, Wanted(answer="approve", by="alice"))
    assert notice_of(manifest)[0] == "no_gain"
    assert (manifest.cases, manifest.event) == ([], {})
    assert active_cases(campaign.store, STUDY) == []


def test_a_reported_lack_of_gain_is_not_announced_again_without_a_question(campaign: Campaign) -> None:
    change_decision(campaign, verdict="keep_no_gain")
    assert accepted(campaign, Wanted()).notice is None


def test_the_event_gives_other_dags_the_producers_settings(campaign: Campaign) -> None:
    decision, manifest = decision_of(campaign), accepted(campaign, Wanted())
    assert manifest.event == {
        "study": STUDY,
        "cases": {
            str(CASE): {
                "version": 1,
                "configuration_id": decision.recommended_configuration_id,
                "properties": decision.recommended_properties,
                "previous_properties": decision.baseline_properties,
                "campaign": campaign.keys.campaign,
                "came_by": "recommended",
            }
        },
    }


def test_the_notice_has_the_change_its_gain_and_the_rollback(campaign: Campaign) -> None:
    decision = decision_of(campaign)
    kind, text = notice_of(accepted(campaign, Wanted()))
    assert kind == "in_force"
    new = decision.recommended_properties["batch.size"]
    assert f"batch.size 16,384 -> {new:,}" in text
    assert f"p95 latency {decision.gains[0].change_fraction:+.1%}".replace("%", " %") in text
    assert f"make rollback STUDY={STUDY} RECORD_SIZE={CASE}" in text


@pytest.mark.parametrize("form", FORMS)
def test_each_file_has_the_newest_version_and_its_origin(campaign: Campaign, form: str) -> None:
    accepted(campaign, Wanted())
    accepted(campaign, pick(other_id(campaign)))
    text = campaign.store.get(f"_in_force/{STUDY}/{CASE}/{form}").decode()
    assert f"{case_label(CASE)} of study {STUDY}" in text
    assert f"Version 2 since {newest(campaign).at}: picked" in text
    assert (
        f"Campaign {campaign.keys.campaign}, configuration {other_id(campaign)}, {newest(campaign).durability}." in text
    )


def test_the_properties_file_agrees_with_the_report(campaign: Campaign) -> None:
    accepted(campaign, Wanted())
    wanted = decision_of(campaign).recommended_properties
    assert exported(campaign) == {name: property_text(value) for name, value in wanted.items()}


def test_a_retried_request_adds_no_version_and_announces_the_same(campaign: Campaign) -> None:
    first = accepted(campaign, Wanted(request="manual__1"))
    assert accepted(campaign, Wanted(request="manual__1")) == first
    assert len(versions(campaign.store, STUDY, CASE)) == 1


def test_a_pick_is_refused_if_another_version_became_active_since_its_decision(campaign: Campaign) -> None:
    wanted = Wanted(case=CASE, configuration=other_id(campaign), request="manual__1", from_version=1)
    with pytest.raises(BadInputError, match="for version 1, but no version exists yet"):
        accepted(campaign, wanted)
    accepted(campaign, pick(durable_id(campaign)))
    first = accepted(campaign, wanted)
    assert accepted(campaign, wanted) == first
    with pytest.raises(BadInputError, match="for version 1, but version 2 is active now"):
        accepted(campaign, Wanted(case=CASE, configuration=campaign.study.baseline_id(), from_version=1))
    with pytest.raises(BadInputError, match="before the first version, but version 2 is active now"):
        accepted(campaign, Wanted(case=CASE, configuration=campaign.study.baseline_id(), from_version=0))
    assert newest(campaign).version == 2


def test_the_version_that_is_moved_from_is_one_record_sizes(campaign: Campaign) -> None:
    with pytest.raises(BadInputError, match="--from-version needs --case"):
        accepted(campaign, Wanted(from_version=1))


@pytest.mark.parametrize("again", [Wanted(), Wanted(answer="approve", by="alice", request="manual__2")])
def test_already_active_settings_are_not_announced_again(campaign: Campaign, again: Wanted) -> None:
    accepted(campaign, Wanted(request="manual__1"))
    manifest = accepted(campaign, again)
    assert (manifest.cases, manifest.event) == ([], {})
    kind, text = notice_of(manifest)
    assert (kind, "65,636 B: already active as version 1." in text) == ("unchanged", True)
    assert len(versions(campaign.store, STUDY, CASE)) == 1


def test_an_old_approval_is_not_replayed_over_later_settings_and_a_new_one_counts(campaign: Campaign) -> None:
    approval = Wanted(answer="approve", by="alice", request="manual__1")
    accepted(campaign, approval)
    accepted(campaign, pick(other_id(campaign)))
    manifest = accepted(campaign, approval)
    assert (manifest.cases, manifest.event) == ([], {})
    kind, text = notice_of(manifest)
    assert kind == "unchanged"
    assert "version 2 is active, picked from campaign" in text
    assert "This request made version 1, which was replaced later." in text
    accepted(campaign, Wanted(answer="approve", by="alice", request="manual__2"))
    assert (newest(campaign).version, newest(campaign).request) == (3, "manual__2")


def test_an_answer_does_not_replace_settings_activated_after_the_question(campaign: Campaign) -> None:
    asked = Wanted(answer="approve", by="alice", request="manual__1", seen={CASE: 0})
    accepted(campaign, Wanted(case=CASE, configuration=other_id(campaign), by="bob"))
    kind, text = notice_of(accepted(campaign, asked))
    assert kind == "needs_approval"
    assert "version 1 stays active, because it is newer than the approval request, made before any version" in text
    assert newest(campaign).accepted_by == "bob"
    accepted(campaign, Wanted(answer="approve", by="alice", request="manual__2", seen={CASE: 1}))
    assert (newest(campaign).version, newest(campaign).accepted_by) == (2, "alice")


def test_older_evidence_does_not_replace_later_active_settings_without_approval(
    campaign: Campaign, another: Campaign
) -> None:
    accepted(campaign, pick(other_id(campaign)))
    kind, text = notice_of(accepted(another, Wanted()))
    assert kind == "unchanged"
    assert "version 1 stays active; this campaign did not measure it" in text
    assert "trigger DAG settings_in_force with action accept, campaign another, 65,636 B" in text
    accepted(another, Wanted(answer="approve", by="alice"))
    assert newest(another).campaign == "another"


def test_a_campaign_from_before_active_settings_were_measured_waits_for_approval(
    campaign: Campaign, another: Campaign
) -> None:
    change_decision(another, newest_version=None)
    accepted(campaign, pick(other_id(campaign)))
    assert notice_of(accepted(another, Wanted()))[0] == "unchanged"
    assert newest(another).version == 1


def test_a_pick_whose_harm_is_not_excluded_comes_into_force_on_a_persons_word_alone(campaign: Campaign) -> None:
    recommend(campaign, durable_id(campaign))
    change_decision(campaign, verdict="ask_a_person")
    kind, text = notice_of(accepted(campaign, Wanted()))
    assert (kind, active_cases(campaign.store, STUDY)) == ("needs_approval", [])
    assert "65,636 B: APPROVAL REQUIRED" in text
    assert "trigger DAG settings_in_force with action accept" in text
    accepted(campaign, Wanted(answer="approve", by="alice"))
    assert (newest(campaign).came_by, newest(campaign).gains) == ("picked", decision_of(campaign).gains)


def compared_to_version_1(campaign: Campaign, **changes: Any) -> ActiveReference:
    """Return the active settings as a campaign that measured them records them."""
    settings = newest(campaign)
    names = ("version", "campaign", "configuration_id", "configuration", "properties", "durability")
    return ActiveReference(**{name: getattr(settings, name) for name in names}, **changes)


def test_gains_are_stated_over_the_version_that_was_measured_and_over_the_baseline(
    campaign: Campaign, another: Campaign
) -> None:
    accepted(campaign, Wanted())
    gains = decision_of(another).gains
    change_decision(another, newest_version=1, in_force=compared_to_version_1(another), gains_over_baseline=gains)
    _, text = notice_of(accepted(another, Wanted()))
    assert (newest(another).version, newest(another).compared_with_version) == (2, 1)
    assert "Compared with version 1 in fresh blocks: p95 latency" in text
    assert "Compared with the baseline in the same blocks: p95 latency" in text
    assert "WARNING: this campaign did not measure" not in text


def test_settings_picked_over_a_version_that_their_campaign_did_not_measure_are_warned_of(
    campaign: Campaign, reported_store: Path
) -> None:
    accepted(campaign, Wanted())
    older = accepting_campaign(reported_store, Path(campaign.store._folder), "older")
    _, text = notice_of(accepted(older, pick(other_id(older))))
    assert "WARNING: this campaign did not measure version 1 (the settings it replaced)" in text


def test_active_settings_not_measured_because_of_a_difference_are_not_replaced_without_approval(
    campaign: Campaign, another: Campaign
) -> None:
    accepted(campaign, Wanted())
    change_decision(another, newest_version=1, in_force_left_out=["workload.keys: 0 then, 10 now"])
    kind, text = notice_of(accepted(another, Wanted()))
    assert (kind, newest(another).version) == ("needs_approval", 1)
    assert "this campaign did not measure the active version 1 (workload.keys: 0 then, 10 now)" in text


@pytest.mark.parametrize("verdict", ["recommended", "keep_no_gain"])
def test_replacing_active_settings_that_break_a_current_constraint_needs_approval(
    campaign: Campaign, another: Campaign, verdict: str
) -> None:
    accepted(campaign, Wanted())
    broken = compared_to_version_1(another, durability_accepted=False)
    change_decision(another, newest_version=1, in_force=broken, verdict=verdict)
    kind, text = notice_of(accepted(another, Wanted()))
    assert (kind, newest(another).version) == ("needs_approval", 1)
    assert "Active version 1 violates the accepted durability" in text


def test_less_durability_than_the_baselines_waits_for_a_person(campaign: Campaign, reported_store: Path) -> None:
    weak = accepting_campaign(reported_store, Path(campaign.store._folder), "weak")
    manifest = accepted(weak, Wanted())
    kind, text = notice_of(manifest)
    assert (kind, manifest.cases) == ("needs_approval", [])
    assert "acks_1 instead of acks_all_idempotent" in text
    kind, text = notice_of(accepted(weak, Wanted(answer="approve", by="alice")))
    assert kind == "in_force"
    assert "WARNING: weaker durability guarantee" in text
    assert (newest(weak).durability, newest(weak).previous_durability) == ("acks_1", "acks_all_idempotent")
    roll_back.run(weak.store, STUDY, CASE)
    assert (newest(weak).is_baseline, newest(weak).durability) == (True, "acks_all_idempotent")


def test_less_durability_than_the_active_settings_waits_for_approval(campaign: Campaign, reported_store: Path) -> None:
    accepted(campaign, Wanted())
    weak = accepting_campaign(reported_store, Path(campaign.store._folder), "weak")
    weakest = {"baseline_properties": {"acks": "0"}, "baseline_durability": "acks_0"}
    change_decision(weak, **weakest, weaker_than_baseline=False, newest_version=1)
    assert notice_of(accepted(weak, Wanted()))[0] == "needs_approval"
    assert newest(campaign).version == 1


def test_a_later_campaigns_recommendation_can_be_rolled_back_to_the_former_one(
    campaign: Campaign, another: Campaign
) -> None:
    accepted(campaign, Wanted())
    recommend(another, other_id(another))
    accepted(another, Wanted(answer="approve"))
    assert (newest(another).version, newest(another).previous_version) == (2, 1)
    assert newest(another).previous_properties == decision_of(campaign).recommended_properties


def test_the_same_settings_on_newer_evidence_lead_back_to_other_ones(campaign: Campaign, another: Campaign) -> None:
    accepted(campaign, Wanted())
    change_decision(another, newest_version=1)
    _, text = notice_of(accepted(another, Wanted()))
    settings = newest(another)
    assert (settings.version, settings.previous_version, settings.campaign) == (2, None, "another")
    assert settings.previous_properties == decision_of(campaign).baseline_properties
    assert "no settings; confirmed by a newer campaign" in text


def test_replaced_settings_return_only_with_approval(campaign: Campaign) -> None:
    accepted(campaign, Wanted())
    roll_back.run(campaign.store, STUDY, CASE)
    kind, text = notice_of(accepted(campaign, Wanted()))
    assert kind == "unchanged"
    assert "version 2 stays" in text
    accepted(campaign, Wanted(answer="approve", by="alice"))
    settings = newest(campaign)
    assert (settings.version, settings.came_by, settings.accepted_by) == (3, "recommended", "alice")


def test_a_rejection_moves_nothing_and_is_kept_with_its_reason(campaign: Campaign) -> None:
    manifest = accepted(campaign, Wanted(answer="reject", by="bob", reason="not before the holidays"))
    answer = last_answer(campaign, CASE)
    assert answer
    assert (answer.answer, answer.by, answer.reason) == ("reject", "bob", "not before the holidays")
    assert (manifest.cases, manifest.artifacts) == ([], [campaign.keys.answer(answer.at)])
    assert notice_of(manifest) == (
        "unchanged",
        f"The recommendations of campaign {campaign.keys.campaign} were rejected by bob (not before the holidays).",
    )
    assert active_cases(campaign.store, STUDY) == []


def test_an_approval_is_kept_and_nothing_is_where_nobody_was_asked(campaign: Campaign) -> None:
    accepted(campaign, Wanted())
    assert campaign.store.keys(campaign.keys.answers()) == []
    accepted(campaign, Wanted(answer="approve", by="alice"))
    answer = last_answer(campaign, CASE)
    assert answer
    assert (answer.answer, answer.by, answer.cases) == ("approve", "alice", [OTHER_CASE, CASE])


def test_every_answer_is_kept_with_its_own_time_and_a_retry_keeps_none_twice(campaign: Campaign) -> None:
    first, second = datetime(2026, 11, 22, 1, 2, 3, 4, tzinfo=UTC), datetime(2026, 11, 23, tzinfo=UTC)
    for _ in range(2):
        accepted(campaign, Wanted(answer="reject", by="bob", answered_at=first))
    accepted(campaign, Wanted(case=OTHER_CASE, answer="approve", by="alice", answered_at=second))
    kept = [campaign.read_record(key, Answer) for key in campaign.store.keys(campaign.keys.answers())]
    assert [(answer.answer, answer.at) for answer in kept] == [("reject", first), ("approve", second)]
    assert [last_answer(campaign, size) for size in (CASE, OTHER_CASE)] == kept


def test_rejected_settings_do_not_become_active_when_the_campaign_resumes_without_a_question(
    campaign: Campaign,
) -> None:
    accepted(campaign, Wanted(answer="reject", by="bob", reason="not before the holidays"))
    kind, text = notice_of(accepted(campaign, Wanted(request="manual__2")))
    assert kind == "unchanged"
    assert "65,636 B: the recommendation was rejected by bob (not before the holidays)." in text
    assert active_cases(campaign.store, STUDY) == []
    accepted(campaign, Wanted(answer="approve", by="bob"))
    assert newest(campaign).accepted_by == "bob"


def test_the_question_shows_the_overrides_and_trade_offs_of_approving(campaign: Campaign) -> None:
    decision = decision_of(campaign)
    baseline = Promised(decision.baseline_properties, decision.baseline_durability, "producer")
    new = Promised({**decision.recommended_properties, "acks": "1"}, "acks_1", "producer")
    assert approval_text(CASE, None, baseline, baseline).splitlines() == [
        "65,636 B: approving replaces the baseline (no settings have been activated yet).",
        "  Changed: no settings; confirmed by a newer campaign.",
    ]
    accepted(campaign, Wanted(case=CASE, configuration=durable_id(campaign), by="alice"))
    question = approval_text(CASE, newest(campaign), baseline, new, compared_with_version=1)
    assert question.splitlines() == [
        f"65,636 B: approving replaces version 1, accepted from campaign {campaign.keys.campaign} by alice.",
        "  Changed: acks all -> 1.",
        "  WARNING: weaker durability guarantee: acks_1 instead of acks_all_idempotent.",
    ]
    unmeasured = approval_text(CASE, newest(campaign), baseline, new)
    assert "WARNING: this campaign did not measure version 1 (the active settings)" in unmeasured


def test_one_record_size_may_be_accepted_alone(campaign: Campaign) -> None:
    recommend(campaign, durable_id(campaign, case=OTHER_CASE), OTHER_CASE)
    manifest = accepted(campaign, Wanted(case=OTHER_CASE, answer="approve"))
    assert manifest.cases == [OTHER_CASE] == active_cases(campaign.store, STUDY)


def test_a_picked_configuration_becomes_active_without_unstated_gains(campaign: Campaign) -> None:
    name = other_id(campaign)
    accepted(campaign, Wanted(case=CASE, configuration=name, by="alice", reason="p95 below 50 ms"))
    settings = newest(campaign)
    row = trials_of(campaign).set_index("configuration_id").loc[name]
    assert (settings.came_by, settings.gains, settings.configuration_id) == ("picked", [], name)
    assert (settings.accepted_by, settings.reason) == ("alice", "p95 below 50 ms")
    assert settings.configuration == {factor: row[factor] for factor in campaign.study.factors}


def test_picking_the_recommendation_is_accepting_it(campaign: Campaign) -> None:
    accepted(campaign, pick(durable_id(campaign)))
    assert (newest(campaign).came_by, newest(campaign).gains) == ("recommended", decision_of(campaign).gains)


def test_the_baseline_may_be_picked(campaign: Campaign) -> None:
    accepted(campaign, Wanted())
    accepted(campaign, pick(campaign.study.baseline_id()))
    assert newest(campaign).is_baseline
    assert newest(campaign).previous_version == 1


def test_an_unconfirmed_pick_is_refused_with_the_confirmed_ones(campaign: Campaign) -> None:
    with pytest.raises(BadInputError, match=r"'c0000000000' was not confirmed for 65,636 B .*it confirmed c"):
        accepted(campaign, pick("c0000000000"))
    assert active_cases(campaign.store, STUDY) == []


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"repetitions_lost_records": 1}, "lost or duplicated records"),
        ({"repetitions_valid": 0}, "it has no valid repetition"),
        ({"feasible": False}, "violates a rule of the study"),
    ],
)
def test_an_ineligible_pick_is_refused_with_the_rule(campaign: Campaign, changes: dict[str, object], rule: str) -> None:
    name = other_id(campaign)
    change_trial(campaign, name, **changes)
    with pytest.raises(BadInputError, match=f"--configuration: '{name}' for 65,636 B: .*{rule}"):
        accepted(campaign, pick(name))
    assert active_cases(campaign.store, STUDY) == []


def test_a_record_lost_in_the_gain_blocks_alone_refuses_the_pick_too(campaign: Campaign) -> None:
    change_decision(campaign, pick_counts=Counts(repetitions=20, lost_records=1, failed=0), verdict="keep_lost_records")
    with pytest.raises(BadInputError, match="lost or duplicated records"):
        accepted(campaign, pick(durable_id(campaign)))


def test_less_durability_than_the_study_accepts_cannot_be_picked(campaign: Campaign) -> None:
    trials = trials_of(campaign)
    weak = trials[trials.durability == "acks_1"].configuration_id.iloc[0]
    study = campaign.study.model_copy(update={"durability": None})
    strict = Campaign(study, campaign.keys, campaign.store)
    with pytest.raises(BadInputError, match=f"'{weak}' .*acks_1, but the study requires acks_all_idempotent"):
        accepted(strict, pick(weak))


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (Wanted(case="4096"), "--case: 4096: is not a case of campaign paper/20261121-recorded; it has 1024 and 65636"),
        (Wanted(configuration="c0123456789"), "--configuration needs --case"),
        (
            Wanted(case=CASE, configuration="c0123456789", answer="reject"),
            "--answer: reject: applies to recommendations only",
        ),
    ],
)
def test_invalid_parameters_are_refused(campaign: Campaign, wanted: Wanted, message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        accepted(campaign, wanted)


def test_a_campaign_without_a_report_is_refused(campaign: Campaign) -> None:
    campaign.store.delete(campaign.keys.report("cards.json"))
    with pytest.raises(BadInputError, match=r"cards.json: campaign .* has no report yet; wait for its end"):
        accepted(campaign, Wanted())
