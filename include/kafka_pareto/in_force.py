"""The settings in force: per study and record size the configuration that was accepted last, every version kept.

Nothing else moves them than an accepted recommendation, a confirmed configuration that somebody picked, or the way back
to the version before. A version is written once and never over; the newest is in force.
"""

from __future__ import annotations

from typing import Literal

from kafka_pareto.artifacts import InForceKeys
from kafka_pareto.errors import BadInputError
from kafka_pareto.factors import FactorValue
from kafka_pareto.gains import Gain
from kafka_pareto.producer_properties import PropertyValue
from kafka_pareto.records import Fingerprint, Record, decode_record
from kafka_pareto.store import Store

CameBy = Literal["recommended", "picked", "rolled_back"]


class SettingsInForce(Record):
    """One version of what is in force for a record size of a study.

    Attributes:
        version: From 1 on.
        previous_version: The version that a way back leads to; None: what was in use before any, the baseline.
        came_by: How it came into force: recommended and accepted, picked by somebody, or by the way back.
        configuration: The factors' values; those of the baseline after the way back from version 1.
        properties: All that the producer is told.
        previous_properties: The same of what was in force before, for a way back by hand.
        campaign: The campaign that it was confirmed in, whose record of it is the evidence.
        gains: What that campaign has stated from fresh blocks; nothing where somebody picked it, and of the baseline.
        fingerprint: The cluster and machine that it was confirmed on.
        accepted_by: Who accepted it, as Airflow knows them; empty where nobody was asked.
        reason: In their words; may be empty.
        at: When, in ISO 8601, UTC.
    """

    study: str
    record_size_bytes: int
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


def versions(store: Store, study: str, record_size_bytes: int) -> list[SettingsInForce]:
    """Every version, the oldest first; none where nothing was ever accepted."""
    found = store.keys(InForceKeys(study, record_size_bytes).versions())
    return [decode_record(store.get(key), key, SettingsInForce) for key in found]


def in_force(store: Store, study: str, record_size_bytes: int) -> SettingsInForce | None:
    """The newest version, or None where nothing was ever accepted."""
    found = store.keys(InForceKeys(study, record_size_bytes).versions())
    return decode_record(store.get(found[-1]), found[-1], SettingsInForce) if found else None


def record_sizes_in_force(store: Store, study: str) -> list[int]:
    """The record sizes of the study for which something was accepted, in order."""
    return sorted(int(name) for name in store.folders(f"_in_force/{study}/") if name.isdigit())


def add_version(store: Store, settings: SettingsInForce) -> str:
    """Writes the next version, and returns its key.

    Raises:
        BadInputError: If there is such a version already: somebody else was faster, and their change is to be looked
            at first.
    """
    key = InForceKeys(settings.study, settings.record_size_bytes).version(settings.version)
    if store.put_if(key, settings.model_dump_json().encode(), None) is None:
        raise BadInputError(
            f"{key}: was written meanwhile; look at what is in force for {settings.record_size_bytes} B now, "
            "then decide anew"
        )
    return key
