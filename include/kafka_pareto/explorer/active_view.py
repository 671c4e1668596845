"""Describe the active settings and what a button would change. Read-only."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from kafka_pareto.errors import BadInputError
from kafka_pareto.explorer.snapshot import Snapshot
from kafka_pareto.rollout.client_files import client_files
from kafka_pareto.rollout.eligibility import refuse_ineligible
from kafka_pareto.rollout.messages import Change, Promised, changes, unmeasured_text, weakening
from kafka_pareto.rollout.versions import ActiveSettings, active_settings, file_of, unmeasured_beside, way_back
from kafka_pareto.storage.store import Store
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.tune import Tune


class Move(BaseModel):
    """The effect of a button.

    Attributes:
        from_version: The active version; None for the baseline, before any version.
        changes: The properties that would differ.
        weakens: The durability guarantee before and after, if it gets weaker; else empty.
        unmeasured: A warning if the campaign did not measure what it would replace; else empty.
        refused: Why the move is not allowed; empty if it is.
    """

    from_version: int | None
    changes: list[Change]
    weakens: str = ""
    unmeasured: str = ""
    refused: str = ""


class ActiveView(BaseModel):
    """The active settings for one case of a study.

    Attributes:
        versions: Oldest first; the last one is active.
        differs_from_baseline: The properties that differ from the baseline of the first version.
        files: Names of the client files; empty before the first version.
        way_back: The effect of a rollback.
    """

    versions: list[ActiveSettings]
    differs_from_baseline: list[Change]
    files: list[str]
    way_back: Move


def active_view(kept: Sequence[ActiveSettings]) -> ActiveView:
    """Return the view of these versions (oldest first)."""
    if not kept:
        nothing = "No settings have been activated yet, so there is no earlier version to roll back to."
        stays = Move(from_version=None, changes=[], refused=nothing)
        return ActiveView(versions=[], differs_from_baseline=[], files=[], way_back=stays)
    newest = kept[-1]
    try:
        back = _move(newest.version, newest, way_back(kept, by="", reason="", request=""))
    except BadInputError as error:
        back = Move(from_version=newest.version, changes=[], refused=str(error))
    return ActiveView(
        versions=list(kept),
        differs_from_baseline=changes(kept[0].previous_properties, newest.properties, newest.driver),
        files=list(client_files(newest.driver)),
        way_back=back,
    )


def active_text(store: Store, study: str, case: str, name: str) -> str:
    """Return the newest version as a client file.

    The stored file may be outdated if a writer was killed, and the explorer must not write.

    Raises:
        BadInputError: If no settings are active, or clients do not read such a file.
    """
    newest = active_settings(store, study, case)
    if newest is None:
        raise BadInputError(f"no settings are active for {case_label(case)} of study {study}")
    return file_of(newest, name)


def move_to(snapshot: Snapshot, configuration_id: str, now: ActiveSettings | None) -> Move:
    """Return what activating this configuration would change.

    The step's own rule decides whether it is allowed; the step checks again.

    Raises:
        BadInputError: If the configuration was not measured for this case.
    """
    study = snapshot.study
    measured = [table[table.configuration_id == configuration_id] for table in (snapshot.confirmed, snapshot.trials)]
    row = next((rows.to_dict("records")[0] for rows in measured if len(rows)), None)
    if row is None:
        raise BadInputError(f"{configuration_id} was not measured for {case_label(snapshot.case)}")
    after = _promised_by(study, {name: row[name] for name in study.factors})
    before = now or _promised_by(study, study.baseline_configuration())
    move = _move(now.version if now else None, before, after)
    if row["is_baseline"] and not move.changes:
        return move.model_copy(
            update={"refused": "This is the baseline. It is in use, because no other settings are active."}
        )
    return move.model_copy(
        update={"refused": _refusal(snapshot, configuration_id, now), "unmeasured": _unmeasured(snapshot, now)}
    )


def _promised_by(study: Tune, configuration: Configuration) -> Promised:
    return Promised(study.properties(configuration), study.durability_of(configuration).name, study.driver)


def _move(from_version: int | None, before: Promised | ActiveSettings, after: Promised | ActiveSettings) -> Move:
    changed = changes(before.properties, after.properties, after.driver)
    return Move(from_version=from_version, changes=changed, weakens=weakening(before.durability, after.durability))


def _unmeasured(snapshot: Snapshot, now: ActiveSettings | None) -> str:
    beside = snapshot.decision.in_force if snapshot.decision else None
    version = unmeasured_beside([now] if now else [], beside.version if beside else None)
    return "" if version is None else unmeasured_text(version)


def _refusal(snapshot: Snapshot, configuration_id: str, now: ActiveSettings | None) -> str:
    if now and (now.campaign, now.configuration_id) == (snapshot.campaign.keys.campaign, configuration_id):
        return f"Already active as version {now.version}."
    if snapshot.decision is None or snapshot.context is None:
        return "Not possible before the campaign's report, which judges all cases together."
    try:
        refuse_ineligible(snapshot.campaign, snapshot.decision, configuration_id)
    except BadInputError as error:
        return str(error)
    return ""
