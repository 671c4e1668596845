"""Step `accept`: activate a campaign's recommendation, or a confirmed configuration picked by a person."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime

from kafka_pareto.analysis.wording import joined
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import InForceKeys
from kafka_pareto.campaign.manifest import Manifest, Notice, NoticeKind
from kafka_pareto.campaign.records import Fingerprint
from kafka_pareto.decision.decision import Decision
from kafka_pareto.errors import BadInputError, MissingArtifactError, PickError
from kafka_pareto.report.cards import Cards
from kafka_pareto.report.reasons import headline_of, reason_of, rules_broken
from kafka_pareto.rollout.approvals import Answer, changes_shown
from kafka_pareto.rollout.eligibility import (
    confirmed_trial,
    refuse_a_former_cluster,
    refuse_another_cluster,
    refuse_ineligible,
)
from kafka_pareto.rollout.messages import by_whom, event_of, moved_text, standing_text
from kafka_pareto.rollout.objections import (
    Kept,
    Stays,
    activated_since_question,
    how_to_accept,
    is_activation,
    why_approval_needed,
    why_outdated,
)
from kafka_pareto.rollout.renewal import Look, SystemNow, how_to_confirm_changes, look_now, question_about
from kafka_pareto.rollout.versions import (
    ActiveSettings,
    add_version,
    cluster_of_version,
    now,
    refuse_another_version,
    repair_files,
    versions,
    write_files,
)
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.options import Wanted

logger = logging.getLogger(__name__)


def run(campaign: Campaign, wanted: Wanted, look: Look = look_now) -> Manifest:
    """Activate the recommendations case by case, and report the outcome of each.

    Safe to run again: settings that this campaign has activated get no second version. Settings need a person's
    approval if they were rolled back or rejected, if others were activated since their measurement, or if the system
    has changed since; in the last case another run asks the manifest's question.

    Raises:
        BadInputError: If the campaign has no report or no such case, if it belongs to another cluster, if the pick is
            not eligible or the system's changes were not confirmed, or if the settings were changed meanwhile. Cases
            activated before the error stay active; a retry of the same request announces them.
    """
    refuse_another_cluster(campaign.study.cluster_name, wanted.cluster)
    decisions = _decisions(campaign, wanted)
    repair_files(campaign.store, campaign.keys.study, [decision.case for decision in decisions])
    system = SystemNow(campaign, look)
    if wanted.configuration is not None:
        _refuse_a_bad_pick(campaign, decisions[0], wanted.configuration, wanted)
        moved = _moved(campaign, decisions[0], wanted.configuration, wanted, system)
        if isinstance(moved, Stays) and moved.asks:
            how = how_to_confirm_changes(campaign, decisions[0].case, system)
            raise BadInputError(f"--configuration: {moved.text} {how}")
        return _manifest(campaign, [moved], [])
    answer = [] if wanted.answer == "not_asked" else [_keep_answer(campaign, decisions, wanted)]
    if wanted.answer == "reject":
        whose = by_whom(wanted.by, wanted.reason)
        text = f"The recommendations of campaign {campaign.keys.campaign} were rejected{whose}."
        return _manifest(campaign, [Stays("unchanged", text)], answer)
    outcomes = [_moved_if_recommended(campaign, decision, wanted, system) for decision in decisions]
    asked = [
        decision.case
        for decision, outcome in zip(decisions, outcomes, strict=True)
        if isinstance(outcome, Stays) and outcome.asks
    ]
    written, question = question_about(campaign, asked, system) if asked else ([], {})
    return _manifest(campaign, outcomes, [*answer, *written]).model_copy(update={"question": question})


def _decisions(campaign: Campaign, wanted: Wanted) -> list[Decision]:
    key, case = campaign.keys.report("cards.json"), wanted.case
    try:
        cards = campaign.read_record(key, Cards).cards
    except MissingArtifactError as error:
        raise BadInputError(f"{key}: campaign {campaign.keys.prefix} has no report yet; wait for its end") from error
    if case is None and wanted.configuration is not None:
        raise BadInputError("--configuration needs --case, because a configuration is activated for one case")
    if case is None and wanted.from_version is not None:
        raise BadInputError("--from-version needs --case, because each case has its own versions")
    found = [decision for decision in cards if case in (None, decision.case)]
    if not found:
        known = joined([decision.case for decision in cards])
        raise BadInputError(f"--case: {case}: is not a case of campaign {campaign.keys.prefix}; it has {known}")
    return found


def _refuse_a_bad_pick(campaign: Campaign, decision: Decision, configuration_id: str, wanted: Wanted) -> None:
    if wanted.answer == "reject":
        raise BadInputError("--answer: reject: applies to recommendations only; omit --configuration or the answer")
    try:
        refuse_ineligible(campaign, decision, configuration_id)
    except PickError as error:
        raise BadInputError(f"--configuration: {error}") from error


def _moved_if_recommended(campaign: Campaign, decision: Decision, wanted: Wanted, system: SystemNow) -> Kept | Stays:
    somebody_decides = wanted.ask or wanted.answer == "approve"
    if decision.pick_configuration_id and (decision.recommended or (decision.offered and somebody_decides)):
        return _moved(campaign, decision, decision.pick_configuration_id, wanted, system)
    text = f"{case_label(decision.case)}: {headline_of(decision)}. {reason_of(decision)}"
    if decision.offered:
        return Stays("needs_approval", f"{text} {how_to_accept(campaign, decision.case)}")
    if decision.active_breaks_rules:
        return Stays(
            "needs_approval",
            f"{text} {rules_broken(decision)} Roll back or activate other settings.",
            subject="the active settings violate a rule of the study",
        )
    return Stays("no_gain", text)


def _moved(
    campaign: Campaign, decision: Decision, configuration_id: str, wanted: Wanted, system: SystemNow
) -> Kept | Stays:
    """Return the case's versions with the new one last, or the reason why the settings stay."""
    store, study, case = campaign.store, campaign.keys.study, decision.case
    kept = versions(store, study, case)
    refuse_a_former_cluster(campaign, kept[-1] if kept else None, wanted.cluster)
    matching = [settings for settings in kept if is_activation(settings, campaign, configuration_id)]
    own = [settings for settings in matching if wanted.request and settings.request == wanted.request]
    if own and own[-1] == kept[-1]:
        return kept
    if own:
        text = f"{standing_text(kept[-1])} This request made version {own[-1].version}, which was replaced later."
        return Stays("unchanged", text)
    if matching and matching[-1] == kept[-1]:
        return Stays("unchanged", f"{case_label(case)}: already active as version {kept[-1].version}.")
    if wanted.ask:
        text = f"{case_label(case)}: waiting for approval under Required Actions in Airflow."
        return Stays("needs_approval", text, asks=True)
    is_picked = wanted.configuration is not None
    nobody_decided = wanted.answer == "not_asked" and not is_picked
    if nobody_decided and (reason := why_approval_needed(campaign, decision, kept)):
        return reason
    if activated_later := activated_since_question(campaign, decision, kept, wanted.seen):
        return activated_later
    refuse_another_version(kept, wanted.from_version)
    shown = changes_shown(campaign, wanted.changes_seen)
    if outdated := why_outdated(campaign, decision, system, shown, None if is_picked else wanted.asked_at):
        return outdated
    kept.append(_next_version(campaign, decision, configuration_id, wanted, kept))
    add_version(store, kept[-1])
    write_files(store, study, case)
    return kept


def _next_version(
    campaign: Campaign, decision: Decision, configuration_id: str, wanted: Wanted, kept: Kept
) -> ActiveSettings:
    study, keys = campaign.tune, campaign.keys
    trial = confirmed_trial(campaign, decision, configuration_id)
    configuration = {name: trial[name] for name in study.factors}
    properties = study.properties(configuration)
    is_the_pick = configuration_id == decision.pick_configuration_id
    newest = kept[-1] if kept else None
    # Never roll back to another cluster's settings: they were not measured on this one.
    before = newest if newest and cluster_of_version(campaign.store, newest) == study.cluster_name else None
    previous_version = before.version if before else None
    previous_properties = before.properties if before else decision.baseline_properties
    previous_durability = before.durability if before else decision.baseline_durability
    if before and before.properties == properties:  # newer evidence only: keep the rollback target
        previous_version, previous_properties = before.previous_version, before.previous_properties
        previous_durability = before.durability_after_rollback
    return ActiveSettings(
        study=keys.study,
        case=decision.case,
        version=newest.version + 1 if newest else 1,
        previous_version=previous_version,
        came_by="recommended" if is_the_pick and decision.recommended else "picked",
        configuration_id=configuration_id,
        is_baseline=configuration_id == study.baseline_id(),
        configuration=configuration,
        properties=properties,
        previous_properties=previous_properties,
        durability=study.durability_of(configuration).name,
        previous_durability=previous_durability,
        driver=study.driver,
        campaign=keys.campaign,
        cluster=study.cluster_name,
        compared_with_version=decision.in_force.version if decision.in_force else None,
        gains=decision.gains if is_the_pick else [],
        gains_over_baseline=decision.gains_over_baseline if is_the_pick else [],
        fingerprint=campaign.read_record(keys.fingerprint(decision.case), Fingerprint),
        accepted_by=wanted.by,
        reason=wanted.reason,
        at=now(),
        request=wanted.request,
    )


def _keep_answer(campaign: Campaign, decisions: Sequence[Decision], wanted: Wanted) -> str:
    at = (wanted.answered_at or datetime.now(UTC)).astimezone(UTC)
    about = {"cases": [decision.case for decision in decisions], "at": at}
    answer = Answer.model_validate({**wanted.model_dump(include={"answer", "by", "reason"}), **about})
    return campaign.write_record(campaign.keys.answer(at), answer)


def _manifest(campaign: Campaign, outcomes: Sequence[Kept | Stays], written: Sequence[str]) -> Manifest:
    moved = [outcome for outcome in outcomes if not isinstance(outcome, Stays)]
    stays = [outcome for outcome in outcomes if isinstance(outcome, Stays)]
    study, newest = campaign.keys.study, [kept[-1] for kept in moved]
    cases = [settings.case for settings in newest]
    notice = _notice(campaign, moved, stays)
    logger.info("%s\n%s", notice.subject, notice.text)
    added = [InForceKeys(study, settings.case).version(settings.version) for settings in newest]
    counts = {"moved": len(moved), "stayed": len(stays)}
    manifest = campaign.manifest("accept", [*written, *added], counts, cases)
    # The report covers a campaign without a gain, but a person who accepted it needs a reply.
    sent = None if notice.kind == "no_gain" and not written else notice
    return manifest.model_copy(update={"event": event_of(study, newest), "notice": sent})


def _notice(campaign: Campaign, moved: Sequence[Kept], stays: Sequence[Stays]) -> Notice:
    """Build the notice: a required action takes precedence over activated settings."""
    kind: NoticeKind = "no_gain"
    what = f"campaign {campaign.keys.campaign} found no gain; the active settings stay"
    kinds = {each.kind for each in stays}
    if "needs_approval" in kinds:
        kind = "needs_approval"
        asked = [each for each in stays if each.kind == "needs_approval"]
        of_this_campaign = [each for each in asked if not each.subject]
        cases = campaign.study.declaration.cases_text(len(of_this_campaign))
        required = f"approval required for {cases} (campaign {campaign.keys.campaign})"
        what = required if of_this_campaign else asked[0].subject
    elif moved:
        kind = "in_force"
        what = f"new active settings for {joined([f'{case_label(kept[-1].case)}' for kept in moved])}"
    elif "unchanged" in kinds:
        kind, what = "unchanged", "the active settings stay"
    text = "\n".join([*map(moved_text, moved), *(each.text for each in stays)])
    return Notice(kind=kind, subject=f"{campaign.keys.study}: {what}", text=text)
