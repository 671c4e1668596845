"""Store every version of the active settings, by study and case.

A version comes from an accepted recommendation, a picked configuration, or a rollback. It is written once and never
changed; the newest is active and is also written as client files.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Literal

from pydantic import Field

from kafka_pareto.analysis.gains import Gain
from kafka_pareto.campaign.keys import CampaignKeys, InForceKeys
from kafka_pareto.campaign.listing import frozen_head
from kafka_pareto.campaign.records import Fingerprint
from kafka_pareto.errors import ArtifactError, BadInputError
from kafka_pareto.kafka.known_properties import DurabilityName, PropertyValue, durability_of, resolved
from kafka_pareto.kafka.properties_file import property_text
from kafka_pareto.rollout.client_files import client_files, settings_file
from kafka_pareto.storage.record import Record, decode_record
from kafka_pareto.storage.store import Store
from kafka_pareto.study.cases import case_label, in_order
from kafka_pareto.study.declarations import drivers
from kafka_pareto.study.factors import FactorValue, configuration_id

logger = logging.getLogger(__name__)

CameBy = Literal["recommended", "picked", "rolled_back"]


class ActiveSettings(Record):
    """One version of the active settings for a case of a study.

    Attributes:
        version: Counts from 1.
        previous_version: The version to roll back to; None is the baseline, before any version.
        came_by: Its origin: an accepted recommendation, a person's pick, or a rollback.
        configuration: The factors' values; the baseline's after a rollback from version 1.
        properties: All settings for the driver.
        previous_properties: All settings after a rollback.
        previous_durability: The guarantee of those; None in producer versions of earlier releases.
        campaign: The campaign that confirmed it; its artifacts are the evidence.
        cluster: The cluster's name; empty for the stack's cluster, None in versions of earlier releases: see
            `cluster_of_version`.
        compared_with_version: The version it was measured against, as the basis of `gains`; None for the baseline.
        gains: From fresh blocks; empty for the baseline, and for a pick that the campaign did not choose.
        gains_over_baseline: If it was compared with a version.
        fingerprint: The cluster and machine it was confirmed on.
        accepted_by: The person's name in Airflow; empty if nobody was asked.
        reason: May be empty.
        at: The time in ISO 8601, UTC.
        request: The ID of the originating request, to recognize a retry; may be empty.
    """

    study: str
    case: str
    version: int
    previous_version: int | None
    came_by: CameBy
    configuration_id: str
    is_baseline: bool
    configuration: dict[str, FactorValue]
    properties: dict[str, PropertyValue]
    previous_properties: dict[str, PropertyValue]
    durability: DurabilityName
    previous_durability: DurabilityName | None = None
    driver: str
    campaign: str
    cluster: str | None = None
    compared_with_version: int | None = None
    gains: list[Gain]
    gains_over_baseline: list[Gain] = Field(default_factory=list)
    fingerprint: Fingerprint
    accepted_by: str
    reason: str
    at: str
    request: str = ""

    @property
    def durability_after_rollback(self) -> DurabilityName:
        """Return the durability guarantee of `previous_properties`."""
        return self.previous_durability or durability_of(self.previous_properties).name


def versions(store: Store, study: str, case: str) -> list[ActiveSettings]:
    """Return every version, oldest first."""
    found = store.keys(InForceKeys(study, case).versions())
    return [decode_record(store.get(key), key, ActiveSettings) for key in found]


def active_settings(store: Store, study: str, case: str) -> ActiveSettings | None:
    """Return the newest version; None without any."""
    found = store.keys(InForceKeys(study, case).versions())
    return decode_record(store.get(found[-1]), found[-1], ActiveSettings) if found else None


def cluster_of_version(store: Store, settings: ActiveSettings) -> str:
    """Return the name of a version's cluster, or of its campaign's if the version has none.

    Raises:
        MissingArtifactError: If neither names one.
    """
    if settings.cluster is not None:
        return settings.cluster
    return frozen_head(store, CampaignKeys(settings.study, settings.campaign))[1]


def active_cases(store: Store, study: str) -> list[str]:
    """Return the study's cases with active settings, in order."""
    return in_order(store.folders(InForceKeys.of_study(study)))


def add_version(store: Store, settings: ActiveSettings) -> str:
    """Write the next version and return its key; call `write_files` after it.

    Raises:
        BadInputError: If that version exists already.
    """
    key = InForceKeys(settings.study, settings.case).version(settings.version)
    content = settings.model_dump_json().encode()
    # If the store's reply was lost and the client retried, the stored version is ours.
    if store.put_if(key, content, None) is None and store.get(key) != content:
        raise BadInputError(
            f"{key}: was written in the meantime; review the active settings for {case_label(settings.case)} "
            "and decide again"
        )
    return key


def active_settings_with_files(store: Store, study: str, case: str) -> ActiveSettings | None:
    """Return the newest version after writing its files, because its writer may have been killed before that."""
    write_files(store, study, case)
    return active_settings(store, study, case)


def write_files(store: Store, study: str, case: str) -> None:
    """Write the newest version as client files where they are outdated.

    A slow writer cannot restore an older version: a file is written only if it is unchanged since before the version
    was read.
    """
    newest = active_settings(store, study, case)
    for name in client_files(newest.driver) if newest else ():
        while not _is_written(store, study, case, name):
            logger.info("%s: was written in the meantime; checking again", InForceKeys(study, case).file(name))


def file_of(settings: ActiveSettings, name: str) -> str:
    """Return the text of a client file; its header names the version.

    Raises:
        BadInputError: If the driver has no such file.
    """
    return settings_file(settings.properties, name, _header(settings), settings.driver)


def _is_written(store: Store, study: str, case: str, name: str) -> bool:
    """Write the file if outdated; return False if another process wrote it meanwhile."""
    key = InForceKeys(study, case).file(name)
    # Read the tag first: a process that adds a version later also writes its file, which changes the tag.
    tag = store.tag(key)
    newest = active_settings(store, study, case)
    if newest is None:
        return True
    content = file_of(newest, name).encode()
    return (tag is not None and store.get(key) == content) or store.put_if(key, content, tag) is not None


def repair_files(store: Store, study: str, cases: Collection[str]) -> None:
    """Write all outdated files of the study: a step may have been killed between a version and its files.

    An unreadable version of a case that does not change is only logged.

    Raises:
        ArtifactError: If a version of one of these cannot be read.
    """
    for case in active_cases(store, study):
        try:
            write_files(store, study, case)
        except ArtifactError as error:
            if case in cases:
                raise
            logger.error("the files of %s are left unchanged: %s", case_label(case), error)


def refuse_another_version(kept: Sequence[ActiveSettings], from_version: int | None) -> None:
    """Reject a change decided on while another version (0: none yet; None: not stated) was active.

    Raises:
        BadInputError: If another version is active.
    """
    newest = kept[-1].version if kept else 0
    if from_version is not None and newest != from_version:
        decided_over = f"for version {from_version}" if from_version else "before the first version"
        standing = f"version {newest} is active now" if newest else "no version exists yet"
        raise BadInputError(
            f"--from-version: the change was decided {decided_over}, but {standing}; review it and decide again"
        )


def replaced(kept: Sequence[ActiveSettings]) -> dict[str, PropertyValue]:
    """Return the properties that the newest version (oldest first) replaced."""
    return kept[-2].properties if len(kept) > 1 else kept[-1].previous_properties


def replaced_durability(kept: Sequence[ActiveSettings]) -> DurabilityName:
    """Return the durability guarantee that the newest version (oldest first) replaced."""
    return kept[-2].durability if len(kept) > 1 else kept[-1].durability_after_rollback


def unmeasured_beside(kept: Sequence[ActiveSettings], compared_with_version: int | None) -> int | None:
    """Return the active version if a campaign did not measure it; None if it did, or if that is the baseline."""
    if not kept or kept[-1].is_baseline or kept[-1].version == compared_with_version:
        return None
    return kept[-1].version


def way_back(kept: Sequence[ActiveSettings], *, by: str, reason: str, request: str) -> ActiveSettings:
    """Return the rollback from the newest version (oldest first); it is not written yet.

    It follows `previous_version`, so repeated rollbacks lead further back, down to the baseline. The versions include
    the baseline, so a rollback works without any campaign.

    Raises:
        BadInputError: If the baseline is active already.
        ArtifactError: If the target version is gone.
    """
    newest = kept[-1]
    moved = {
        "version": newest.version + 1,
        "came_by": "rolled_back",
        "accepted_by": by,
        "reason": reason,
        "at": now(),
        "request": request,
    }
    if newest.previous_version is not None:
        targets = [each for each in kept if each.version == newest.previous_version]
        if not targets:
            key = InForceKeys(newest.study, newest.case).version(newest.previous_version)
            raise ArtifactError(
                f"{key}: is not in the store, but it is the rollback target of version {newest.version}; restore it "
                "from a backup, or activate other settings"
            )
        return targets[0].model_copy(update=moved)
    if newest.is_baseline:
        raise BadInputError(
            f"version {newest.version} for {case_label(newest.case)} of study {newest.study} is the "
            "baseline; there is no earlier version to roll back to"
        )
    properties = newest.previous_properties
    configuration = {name: _factor_value(resolved(properties)[name]) for name in newest.configuration}
    baseline = {
        "configuration_id": configuration_id(configuration),
        "is_baseline": True,
        "configuration": configuration,
        "properties": properties,
        "durability": newest.durability_after_rollback,
        "compared_with_version": None,
        "gains": [],
        "gains_over_baseline": [],
    }
    return newest.model_copy(update={**moved, **baseline})


def now() -> str:
    """Return the current time in ISO 8601, UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _factor_value(value: PropertyValue) -> FactorValue:
    return property_text(value) if isinstance(value, bool) else value


def _header(settings: ActiveSettings) -> list[str]:
    came_by = {"recommended": "recommended", "picked": "picked manually", "rolled_back": "rolled back"}
    promise = f", {settings.durability}" if drivers()[settings.driver].states_durability else ""
    return [
        f"Active settings for {case_label(settings.case)} of study {settings.study}.",
        f"Version {settings.version} since {settings.at}: {came_by[settings.came_by]}.",
        f"Campaign {settings.campaign}, configuration {settings.configuration_id}{promise}.",
    ]
