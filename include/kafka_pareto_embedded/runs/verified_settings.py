"""Read the settings that `verify` looks for: from files, or a study's active ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kafka_pareto.audit.verification import BATCH_SETTINGS, Rollout
from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.client_rules import ClientName
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.kafka.librdkafka_properties import LIBRDKAFKA
from kafka_pareto.kafka.user_settings import ClientFile, read_client_path
from kafka_pareto.rollout.versions import ActiveSettings, active_cases, cluster_of_version, versions
from kafka_pareto.settings import Settings
from kafka_pareto.storage.store import Store, open_store
from kafka_pareto.study.requests import VerifyRequest

_SHOWN_BY_BATCHES = ("batch.size", "compression.type", "enable.idempotence", "linger.ms")


def rollout_of(request: VerifyRequest, settings: Settings) -> Rollout:
    """Return the settings of the files, or a study's active ones.

    Raises:
        BadInputError: If an option or a file is invalid, or the study has no active settings of a producer.
    """
    if (request.settings is None) == (request.active is None):
        raise BadInputError("--settings, --active: give one of them")
    if request.settings is not None:
        if request.case is not None:
            raise BadInputError(f"--record-size: {request.case}: needs --active, since a file holds for every size")
        return _of_files(request.settings, request.previous, request.client)
    if request.previous is not None:
        raise BadInputError("--previous: needs --settings; a study knows its previous settings")
    if request.client is not None:
        raise BadInputError("--client: needs --settings; a study knows its client")
    return _active(request, settings)


def _active(request: VerifyRequest, settings: Settings) -> Rollout:
    study, store = str(request.active), open_store(settings)
    cases = [request.case] if request.case else active_cases(store, study)
    if len(cases) > 1:
        raise BadInputError(f"--record-size: is missing; study {study} has active settings for {', '.join(cases)}")
    kept = versions(store, study, cases[0]) if cases else []
    if not kept:
        at = f" for {request.case}" if request.case else ""
        raise BadInputError(f"--active: study {study} has no active settings{at}")
    active = kept[-1]
    if active.driver not in ("producer", "librdkafka"):
        raise BadInputError(f"--active: study {study} has driver {active.driver}, expected producer or librdkafka")
    source, now, before = f"study {study}, version {active.version}", active.properties, _last_other(store, kept)
    if active.driver == "producer":
        return Rollout(source, now, before)
    return replace(_of_librdkafka(source, now), previous=_seen_in_batches(before))


def _last_other(store: Store, kept: Sequence[ActiveSettings]) -> dict[str, PropertyValue]:
    """Return the settings of producers that have not restarted since the newest version (oldest first).

    After a rollback these are the ones rolled back, not `previous_properties`.
    """
    newest = kept[-1]
    cluster = cluster_of_version(store, newest)
    others = [
        each for each in kept if each.properties != newest.properties and cluster_of_version(store, each) == cluster
    ]
    return others[-1].properties if others else newest.previous_properties


def _of_files(settings: Path, previous: Path | None, client: str | None) -> Rollout:
    """Return the settings of the files; by default both are librdkafka's if one has a name that only it knows."""
    files = {"settings": settings} | ({"previous": previous} if previous else {})
    native = [] if client == "librdkafka" else [option for option, path in files.items() if _is_native(path, option)]
    if client == "java" and native:
        raise BadInputError(
            f"--{native[0]}: {files[native[0]]}: has names that only librdkafka knows; omit --client java"
        )
    rules: ClientName = "librdkafka" if client == "librdkafka" or native else "producer"
    wanted = _file(settings, "settings", rules)
    if previous is None:
        return wanted
    before = _file(previous, "previous", rules)
    if before.why_unpredicted:
        raise BadInputError(f"--previous: {previous}: {before.why_unpredicted}")
    return replace(wanted, previous=before.expected)


def _is_native(path: Path, option: str) -> bool:
    return _read(path, option, "producer").form == "librdkafka"


def _read(path: Path, option: str, client: ClientName) -> ClientFile:
    return read_client_path(path, client, f"--{option}: {path}", is_measured=False)


def _file(path: Path, option: str, rules: ClientName) -> Rollout:
    found = _read(path, option, rules)
    if rules == "librdkafka":
        return _of_librdkafka(str(path), found.used)
    unset = sorted(BATCH_SETTINGS.intersection(found.other_defaults))
    why = f"the settings do not state {' and '.join(unset)}, whose default depends on the client" if unset else ""
    return Rollout(str(path), found.used, None, frozenset(found.other_defaults), why)


def _of_librdkafka(source: str, settings: Mapping[str, PropertyValue]) -> Rollout:
    """Return the settings that batches show; its other rules for batches are predicted with their defaults only."""
    applied = LIBRDKAFKA.resolved(settings)
    usual = LIBRDKAFKA.resolved({name: applied[name] for name in BATCH_SETTINGS})
    other = [name for name in ("batch.num.messages", "sticky.partitioning.linger.ms") if applied[name] != usual[name]]
    why = f"the prediction assumes the default of {' and '.join(other)}" if other else ""
    return Rollout(source, _seen_in_batches(settings), why_unpredicted=why, client="librdkafka")


def _seen_in_batches(librdkafka: Mapping[str, PropertyValue]) -> dict[str, PropertyValue]:
    """Return the settings of librdkafka that batches show, for which Java's producer has the same names."""
    applied = LIBRDKAFKA.resolved(librdkafka)
    return {name: applied[name] for name in _SHOWN_BY_BATCHES}
