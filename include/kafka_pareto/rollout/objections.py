"""Explain why a recommendation is not activated or needs a person's approval. Only reads the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from kafka_pareto.analysis.wording import counted
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.manifest import NoticeKind
from kafka_pareto.decision.decision import Decision
from kafka_pareto.kafka.known_properties import Durability
from kafka_pareto.report.reasons import harm_sentences, rules_broken
from kafka_pareto.rollout.approvals import last_answer
from kafka_pareto.rollout.messages import by_whom, weakening
from kafka_pareto.rollout.renewal import NOT_SEEN, SystemNow
from kafka_pareto.rollout.versions import ActiveSettings
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.identifiers import settings_dag_of

Kept = list[ActiveSettings]
"""Every version of a case, oldest first."""


@dataclass(frozen=True)
class Stays:
    """The reason a case keeps its settings, the kind of notice, and whether a person is asked.

    `subject` replaces the notice's subject about this campaign; empty for none.
    """

    kind: NoticeKind
    text: str
    subject: str = ""
    asks: bool = False


def how_to_accept(campaign: Campaign, case: str) -> str:
    """Explain how a person activates it."""
    dag_id = settings_dag_of(campaign.study.cluster_name)
    return (
        f"Activate it in the Pareto explorer, or trigger DAG {dag_id} with action accept, campaign "
        f"{campaign.keys.campaign}, {case_label(case)}."
    )


def activated_since_question(
    campaign: Campaign, decision: Decision, kept: Kept, seen: Mapping[str, int]
) -> Stays | None:
    """Return the reason if a version was activated after the question, which the answer does not replace.

    `seen` maps a case to the version shown to the person, 0 for none; it is empty if nobody was asked.
    """
    newest = kept[-1].version if kept else 0
    if seen.get(decision.case, newest) == newest:
        return None
    case, shown = case_label(decision.case), seen[decision.case]
    asked = f"while version {shown} was active" if shown else "before any version"
    return Stays(
        "needs_approval",
        f"{case}: version {newest} stays active, because it is newer than the approval request, made {asked}. "
        f"{how_to_accept(campaign, decision.case)}",
    )


def why_outdated(
    campaign: Campaign,
    decision: Decision,
    system: SystemNow,
    shown: Mapping[str, Sequence[str]],
    asked_at: datetime | None,
) -> Stays | None:
    """Return why a recommendation, or an answer to it, is no longer valid; None if it is.

    `shown` maps a case to the system changes shown to the person; `asked_at` is the time of the question, None for no
    time limit.
    """
    case, changes = case_label(decision.case), system.changes(decision.case)
    if changes and changes != shown.get(decision.case):
        since = f"the system has changed since campaign {campaign.keys.campaign} measured it"
        why = f"{since}: {'; '.join(changes)}."
        if changes == [NOT_SEEN]:
            why = f"it is unknown whether {since}, because the system cannot be reached now."
        return Stays("needs_approval", f"{case}: {why}", asks=True)
    days = campaign.tune.confirmation.answer_within_days
    if asked_at is None or datetime.now(UTC) - asked_at <= timedelta(days=days):
        return None
    late = f"the approval request is from {asked_at:%Y-%m-%d}, and an answer is valid for {counted(days, 'day')}"
    return Stays(
        "needs_approval", f"{case}: {late} (confirmation.answer_within_days); approval is requested again.", asks=True
    )


def why_approval_needed(campaign: Campaign, decision: Decision, kept: Kept) -> Stays | None:
    """Return why this recommendation needs a person's approval; None if it does not."""
    case, how = decision.case, how_to_accept(campaign, decision.case)
    given = last_answer(campaign, case)
    if given and given.answer == "reject":
        return Stays(
            "unchanged", f"{case_label(case)}: the recommendation was rejected{by_whom(given.by, given.reason)}. {how}"
        )
    newest = kept[-1].version if kept else 0
    left = [each.version for each in kept if is_activation(each, campaign, decision.recommended_configuration_id)]
    if left:
        since = f"this recommendation was active as version {left[-1]} and was replaced later"
        return Stays("unchanged", f"{case_label(case)}: version {kept[-1].version} stays active; {since}. {how}")
    if newest != (decision.newest_version or 0):
        since = "this campaign did not measure it"
        return Stays("unchanged", f"{case_label(case)}: version {newest} stays active; {since}. {how}")
    if decision.active_breaks_rules:
        return Stays("needs_approval", f"{case_label(case)}: {rules_broken(decision)} Approval is required. {how}")
    if decision.in_force_left_out:
        why = f"this campaign did not measure the active version {newest} ({'; '.join(decision.in_force_left_out)})"
        return Stays("needs_approval", f"{case_label(case)}: approval is required: {why}. {how}")
    if may_harm := harm_sentences(decision):  # earlier releases did not require approval for this
        return Stays("needs_approval", f"{case_label(case)}: {may_harm} {how}")
    # A weaker guarantee than the baseline's or the active settings' needs approval.
    before = [decision.baseline_durability, *(settings.durability for settings in kept[-1:])]
    after = decision.pick_durability or decision.reference_durability
    if weakens := weakening(max(before, key=lambda name: Durability[name]), after):
        return Stays(
            "needs_approval",
            f"{case_label(case)}: approval is required, because the durability guarantee gets weaker: {weakens}. {how}",
        )
    return None


def is_activation(settings: ActiveSettings, campaign: Campaign, configuration_id: str) -> bool:
    """Return whether a version is this configuration, from this campaign."""
    return (settings.campaign, settings.configuration_id) == (campaign.keys.campaign, configuration_id)
