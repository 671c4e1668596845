"""What is said when settings come into force, or do not: to people as a notice, to other DAGs as an event. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, JsonValue

from kafka_pareto.analysis.wording import interval_text, percent
from kafka_pareto.kafka.producer_config import PropertyValue, durability_of
from kafka_pareto.report.cards import shown
from kafka_pareto.rollout.versions import SettingsInForce, replaced
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.driver import label_of

_IN_EVENT = {"version", "configuration_id", "properties", "previous_properties", "campaign", "came_by"}


class Change(BaseModel):
    """One property that differs, as a reader sees it."""

    name: str
    before: str
    after: str


def changes(before: Mapping[str, PropertyValue], after: Mapping[str, PropertyValue]) -> list[Change]:
    """The properties that differ, by name; what is not stated has Kafka's default."""
    both = [(name, shown(name, dict(before)), shown(name, dict(after))) for name in sorted({*before, *after})]
    return [Change(name=name, before=old, after=new) for name, old, new in both if old != new]


def weakening(before: Mapping[str, PropertyValue], after: Mapping[str, PropertyValue]) -> str:
    """What is promised afterwards instead of what was, where that is less; else empty."""
    former, promised = durability_of(before), durability_of(after)
    return f"{promised.name} instead of {former.name}" if promised < former else ""


def event_of(study: str, moved: Sequence[SettingsInForce]) -> dict[str, JsonValue]:
    """What the asset event carries: by record size what came into force; nothing where nothing did."""
    cases: dict[str, JsonValue] = {
        str(settings.case): settings.model_dump(mode="json", include=_IN_EVENT) for settings in moved
    }
    return {"study": study, "cases": cases} if cases else {}


def moved_text(kept: Sequence[SettingsInForce]) -> str:
    """The newest of these versions, oldest first: what it changed, what it gains, and how to go back; a few lines."""
    settings = kept[-1]
    lines = [standing_text(settings), *_change_lines(replaced(kept), settings.properties)]
    if settings.gains:
        lines.append(f"  Against the baseline, in fresh blocks: {_gains_text(settings)}.")
    if settings.previous_version is not None or not settings.is_baseline:
        target = "the baseline" if settings.previous_version is None else f"version {settings.previous_version}"
        command = f"make rollback STUDY={settings.study} RECORD_SIZE={settings.case}"
        lines.append(f"  Back to {target}: {command}")
    return "\n".join(lines)


def standing_text(settings: SettingsInForce) -> str:
    """That it is in force, and how it came to be; one line."""
    return f"{case_label(settings.case)}: version {settings.version} is in force, {_came_by(settings)}."


def approval_text(
    case: str,
    now: SettingsInForce | None,
    baseline: Mapping[str, PropertyValue],
    recommended: Mapping[str, PropertyValue],
) -> str:
    """What approving overrides at a record size, and what changes by it; a few lines.

    Args:
        case: The record size.
        now: What is in force; None where nothing ever was, and the baseline is in use.
        baseline: What the baseline tells the producer.
        recommended: What it is to be told instead.
    """
    in_use = f"version {now.version}, {_came_by(now)}" if now else "the baseline; nothing was put in force yet"
    lines = [f"{case_label(case)}: approving replaces {in_use}."]
    return "\n".join([*lines, *_change_lines(now.properties if now else baseline, recommended)])


def plain(text: str) -> str:
    """What a person typed, in one line and without characters that a terminal would act upon."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())


def by_whom(by: str, reason: str) -> str:
    """The person and their words, as the end of a sentence; nothing where nobody was asked."""
    return (f" by {by}" if by else "") + (f" ({reason})" if reason else "")


def _change_lines(before: Mapping[str, PropertyValue], after: Mapping[str, PropertyValue]) -> list[str]:
    changed = ", ".join(f"{each.name} {each.before} -> {each.after}" for each in changes(before, after))
    lines = [f"  Changed: {changed or 'nothing; the same settings, on newer evidence'}."]
    if weakens := weakening(before, after):
        lines.append(f"  WARNING: it promises less durability: {weakens}.")
    return lines


def _came_by(settings: SettingsInForce) -> str:
    ending = by_whom(settings.accepted_by, settings.reason)
    if settings.came_by == "rolled_back":
        given = "the baseline" if settings.is_baseline else f"what campaign {settings.campaign} gave"
        return f"gone back to {given}{ending}"
    did = "picked" if settings.came_by == "picked" else "accepted" if settings.accepted_by else "recommended"
    return f"{did} from campaign {settings.campaign}{ending}"


def _gains_text(settings: SettingsInForce) -> str:
    return "; ".join(
        f"{label_of(gain.objective)} {percent(gain.change_fraction)} ({interval_text(gain)}, {gain.resolution})"
        for gain in settings.gains
    )
