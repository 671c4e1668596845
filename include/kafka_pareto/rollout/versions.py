"""The settings in force: per study and record size the configuration that was accepted last, every version kept.

Nothing else moves them than an accepted recommendation, a confirmed configuration that somebody picked, or the way back
to the version before. A version is written once and never over; the newest is in force, and lies beside the versions as
the files that producers read.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Literal, get_args

from kafka_pareto.analysis.gains import Gain
from kafka_pareto.campaign.keys import InForceKeys
from kafka_pareto.campaign.records import Fingerprint
from kafka_pareto.errors import ArtifactError, BadInputError
from kafka_pareto.kafka.producer_config import PropertyValue, durability_of, resolved
from kafka_pareto.kafka.properties_file import property_text
from kafka_pareto.rollout.client_files import Form, settings_file
from kafka_pareto.storage.record import Record, decode_record
from kafka_pareto.storage.store import Store
from kafka_pareto.study.cases import case_label, in_order
from kafka_pareto.study.factors import FactorValue, configuration_id

logger = logging.getLogger(__name__)

CameBy = Literal["recommended", "picked", "rolled_back"]


class SettingsInForce(Record):
    """One version of what is in force for a record size of a study.

    Attributes:
        version: From 1 on.
        previous_version: The version that a way back leads to; None: what was in use before any, the baseline.
        came_by: How it came into force: recommended and accepted, picked by somebody, or by the way back.
        configuration: The factors' values; those of the baseline after the way back from version 1.
        properties: All that the producer is told.
        previous_properties: The same of what a way back leads to.
        campaign: The campaign that it was confirmed in, whose record of it is the evidence.
        gains: What that campaign has stated from fresh blocks; nothing where somebody picked it, and of the baseline.
        fingerprint: The cluster and machine that it was confirmed on.
        accepted_by: Who accepted it, as Airflow knows them; empty where nobody was asked.
        reason: In their words; may be empty.
        at: When, in ISO 8601, UTC.
        request: The id of the request that made it, by which a retry is known; may be empty.
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
    durability: str
    campaign: str
    gains: list[Gain]
    fingerprint: Fingerprint
    accepted_by: str
    reason: str
    at: str
    request: str = ""


def versions(store: Store, study: str, case: str) -> list[SettingsInForce]:
    """Every version, the oldest first; none where nothing was ever accepted."""
    found = store.keys(InForceKeys(study, case).versions())
    return [decode_record(store.get(key), key, SettingsInForce) for key in found]


def in_force(store: Store, study: str, case: str) -> SettingsInForce | None:
    """The newest version, or None where nothing was ever accepted."""
    found = store.keys(InForceKeys(study, case).versions())
    return decode_record(store.get(found[-1]), found[-1], SettingsInForce) if found else None


def cases_in_force(store: Store, study: str) -> list[str]:
    """The record sizes of the study for which something was accepted, in order."""
    return in_order(store.folders(InForceKeys.of_study(study)))


def add_version(store: Store, settings: SettingsInForce) -> str:
    """Writes the next version, and returns its key; `write_files` belongs after it.

    Raises:
        BadInputError: If there is such a version already: somebody else was faster, and their change is to be looked
            at first.
    """
    key = InForceKeys(settings.study, settings.case).version(settings.version)
    content = settings.model_dump_json().encode()
    # Where ours lies there, the answer to it was lost on the way, and the store was asked once more.
    if store.put_if(key, content, None) is None and store.get(key) != content:
        raise BadInputError(
            f"{key}: was written meanwhile; look at what is in force for {case_label(settings.case)} now, "
            "then decide anew"
        )
    return key


def write_files(store: Store, study: str, case: str) -> None:
    """Writes the newest version as the files that producers read.

    Safe beside another that does the same: who wrote last has looked once more for a newer version.
    """
    keys = InForceKeys(study, case)
    forms: Sequence[Form] = get_args(Form)
    written: SettingsInForce | None = None
    while (newest := in_force(store, study, case)) != written and newest is not None:
        for form in forms:
            store.put(keys.file(form), settings_file(newest.properties, form, _header(newest)).encode())
        written = newest


def mend_files(store: Store, study: str, cases: Collection[str]) -> None:
    """Writes all files of the study anew: a step may have been killed between a version and its files.

    Args:
        store: The store.
        study: Its name.
        cases: Those that are about to be moved; of any other, what cannot be read is only logged.

    Raises:
        ArtifactError: If a version of one of these cannot be read.
    """
    for case in cases_in_force(store, study):
        try:
            write_files(store, study, case)
        except ArtifactError as error:
            if case in cases:
                raise
            logger.error("the files of %s stay as they are: %s", case_label(case), error)


def refuse_another_version(kept: Sequence[SettingsInForce], from_version: int | None) -> None:
    """Refuses a move that was decided on while something else was in force than is now.

    Args:
        kept: Every version of the record size, the oldest first.
        from_version: The version that was in force when it was decided on; 0: there was none yet; None: not stated,
            nothing is refused.

    Raises:
        BadInputError: If another version is in force.
    """
    newest = kept[-1].version if kept else 0
    if from_version is not None and newest != from_version:
        decided_over = f"over version {from_version}" if from_version else "before there was a version"
        standing = f"version {newest} is in force by now" if newest else "there is no version yet"
        raise BadInputError(
            f"--from-version: the move was decided on {decided_over}, but {standing}; look at it, then decide anew"
        )


def replaced(kept: Sequence[SettingsInForce]) -> dict[str, PropertyValue]:
    """What the producer was told before the newest of these, oldest first, came into force."""
    return kept[-2].properties if len(kept) > 1 else kept[-1].previous_properties


def way_back(kept: Sequence[SettingsInForce], *, by: str, reason: str, request: str) -> SettingsInForce:
    """The version that goes back from the newest of these, oldest first; not yet written.

    It says what the newest one's `previous_version` says, so that a further way back leads further back; before
    version 1 there is the baseline, which the versions themselves tell: no campaign needs to be there any more.

    Raises:
        BadInputError: If the baseline is in force, and nothing lies before it.
        ArtifactError: If the version that it leads to is not there any more.
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
                f"{key}: is not in the store, and version {newest.version} leads back to it; bring it back from a "
                "backup, or accept other settings"
            )
        return targets[0].model_copy(update=moved)
    if newest.is_baseline:
        raise BadInputError(
            f"version {newest.version} for {case_label(newest.case)} of study {newest.study} is the "
            "baseline; there is nothing before it to go back to"
        )
    properties = newest.previous_properties
    configuration = {name: _factor_value(resolved(properties)[name]) for name in newest.configuration}
    baseline = {
        "configuration_id": configuration_id(configuration),
        "is_baseline": True,
        "configuration": configuration,
        "properties": properties,
        "durability": durability_of(properties).name,
        "gains": [],
    }
    return newest.model_copy(update={**moved, **baseline})


def now() -> str:
    """The time in ISO 8601, UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _factor_value(value: PropertyValue) -> FactorValue:
    return property_text(value) if isinstance(value, bool) else value


def _header(settings: SettingsInForce) -> list[str]:
    came_by = {"recommended": "recommended", "picked": "picked by hand", "rolled_back": "by the way back"}
    return [
        f"Kafka producer settings in force for {case_label(settings.case)} of study {settings.study}.",
        f"Version {settings.version} since {settings.at}: {came_by[settings.came_by]}.",
        f"Campaign {settings.campaign}, configuration {settings.configuration_id}, {settings.durability}.",
    ]
