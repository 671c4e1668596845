"""Format changes of active settings as notices for people and as events for other DAGs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic import BaseModel, JsonValue

from kafka_pareto.analysis.gains import Gain
from kafka_pareto.analysis.wording import interval_text, percent, resolution_text
from kafka_pareto.kafka.known_properties import Durability, DurabilityName, PropertyValue
from kafka_pareto.report.cards import shown
from kafka_pareto.rollout.versions import ActiveSettings, replaced, replaced_durability, unmeasured_beside
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.configuration_words import configuration_words
from kafka_pareto.study.declarations import label_of

_IN_EVENT = {"version", "configuration_id", "properties", "previous_properties", "campaign", "came_by"}


class Change(BaseModel):
    """One property that differs."""

    name: str
    before: str
    after: str


class Promised(NamedTuple):
    """Settings of a driver with their durability guarantee."""

    properties: Mapping[str, PropertyValue]
    durability: DurabilityName
    driver: str


def changes(before: Mapping[str, PropertyValue], after: Mapping[str, PropertyValue], driver: str) -> list[Change]:
    """Return the properties that differ, by name; an unset property has the default of the driver's program."""
    both = [(name, shown(name, before, driver), shown(name, after, driver)) for name in sorted({*before, *after})]
    return [Change(name=name, before=old, after=new) for name, old, new in both if old != new]


def weakening(before: DurabilityName, after: DurabilityName) -> str:
    """Return the durability guarantees after and before if it gets weaker; else an empty text."""
    return f"{after} instead of {before}" if Durability[after] < Durability[before] else ""


def event_of(study: str, moved: Sequence[ActiveSettings]) -> dict[str, JsonValue]:
    """Return the asset event: the newly active settings by case; empty without any."""
    cases: dict[str, JsonValue] = {
        settings.case: settings.model_dump(mode="json", include=_IN_EVENT) for settings in moved
    }
    return {"study": study, "cases": cases} if cases else {}


def moved_text(kept: Sequence[ActiveSettings]) -> str:
    """Summarize the newest version (oldest first): changes, gains and rollback."""
    settings = kept[-1]
    words = f"{configuration_words(settings.configuration)} ({settings.configuration_id})"
    lines = [standing_text(settings), f"  Settings: {words}.", *_change_lines(replaced(kept), settings)]
    lines += _weakening_lines(replaced_durability(kept), settings.durability)
    if settings.gains:
        version = settings.compared_with_version
        beside = "the baseline" if version is None else f"version {version}"
        gains = "; ".join(f"{_change_of(gain)}, {resolution_text(gain)}" for gain in settings.gains)
        lines.append(f"  Compared with {beside} in fresh blocks: {gains}.")
    if settings.gains_over_baseline:
        changed = "; ".join(map(_change_of, settings.gains_over_baseline))
        lines.append(f"  Compared with the baseline in the same blocks: {changed}.")
    unmeasured = unmeasured_beside(kept[:-1], settings.compared_with_version)
    is_change = bool(changes(replaced(kept), settings.properties, settings.driver))
    if unmeasured is not None and is_change and settings.came_by != "rolled_back":
        lines.append(f"  WARNING: {unmeasured_text(unmeasured, 'the settings it replaced')}")
    if settings.previous_version is not None or not settings.is_baseline:
        target = "the baseline" if settings.previous_version is None else f"version {settings.previous_version}"
        command = f"make rollback STUDY={settings.study} RECORD_SIZE={settings.case}"
        lines.append(f"  To roll back to {target}: {command}")
    return "\n".join(lines)


def standing_text(settings: ActiveSettings) -> str:
    """Return one line with the active version and its origin."""
    return f"{case_label(settings.case)}: version {settings.version} is active, {_came_by(settings)}."


def approval_text(
    case: str,
    now: ActiveSettings | None,
    baseline: Promised,
    recommended: Promised,
    compared_with_version: int | None = None,
) -> str:
    """Summarize what an approval replaces for a case, and what it changes.

    Without active settings the baseline applies. `compared_with_version` is the version that the campaign compared the
    recommended settings with, None for the baseline.
    """
    replaced = (
        f"version {now.version}, {_came_by(now)}" if now else "the baseline (no settings have been activated yet)"
    )
    lines = [f"{case_label(case)}: approving replaces {replaced}."]
    before = now or baseline
    lines += _change_lines(before.properties, recommended)
    lines += _weakening_lines(before.durability, recommended.durability)
    if unmeasured := unmeasured_beside([now] if now else [], compared_with_version):
        lines.append(f"  WARNING: {unmeasured_text(unmeasured)}")
    return "\n".join(lines)


def unmeasured_text(version: int, standing: str = "the active settings") -> str:
    """Return the warning about active settings that a campaign did not measure."""
    return f"this campaign did not measure version {version} ({standing}), so the two cannot be compared."


def by_whom(by: str, reason: str) -> str:
    """Return the person and their reason as the end of a sentence; empty if nobody was asked."""
    return (f" by {by}" if by else "") + (f" ({reason})" if reason else "")


def _change_lines(before: Mapping[str, PropertyValue], after: Promised | ActiveSettings) -> list[str]:
    found = changes(before, after.properties, after.driver)
    changed = ", ".join(f"{each.name} {each.before} -> {each.after}" for each in found)
    return [f"  Changed: {changed or 'no settings; confirmed by a newer campaign'}."]


def _weakening_lines(before: DurabilityName, after: DurabilityName) -> list[str]:
    weakens = weakening(before, after)
    return [f"  WARNING: weaker durability guarantee: {weakens}."] if weakens else []


def _came_by(settings: ActiveSettings) -> str:
    ending = by_whom(settings.accepted_by, settings.reason)
    if settings.came_by == "rolled_back":
        given = "the baseline" if settings.is_baseline else f"the settings of campaign {settings.campaign}"
        return f"rolled back to {given}{ending}"
    if settings.came_by == "picked":
        did = "picked from"
    else:
        did = "accepted from" if settings.accepted_by else "recommended by"
    return f"{did} campaign {settings.campaign}{ending}"


def _change_of(gain: Gain) -> str:
    return f"{label_of(gain.objective)} {percent(gain.change_fraction)} ({interval_text(gain)})"
