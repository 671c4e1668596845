"""Print the reports of the commands `doctor`, `audit`, `verify` and `sizing`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from kafka_pareto.audit.audit import audit
from kafka_pareto.audit.text import audit_text
from kafka_pareto.audit.verification import BATCH_SETTINGS, Rollout, verify
from kafka_pareto.audit.verification_text import verification_text
from kafka_pareto.doctor.examine import examine
from kafka_pareto.doctor.guide import load_guide
from kafka_pareto.doctor.page import doctor_page
from kafka_pareto.doctor.sizing import size_cluster, sizing_text
from kafka_pareto.doctor.text import report_text
from kafka_pareto.errors import BadInputError
from kafka_pareto.exit_codes import EXIT_OF_USE
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.kafka.librdkafka_properties import LIBRDKAFKA
from kafka_pareto.kafka.user_settings import read_client_path
from kafka_pareto.rollout.versions import active_cases, active_settings
from kafka_pareto.settings import Settings
from kafka_pareto.storage.store import open_store
from kafka_pareto.study.requests import (
    AuditRequest,
    DoctorRequest,
    ReadRequest,
    SizingOptions,
    SizingRequest,
    VerifyRequest,
)
from kafka_pareto_embedded.bootstrap.preflight import find_java
from kafka_pareto_embedded.lifecycle import lifecycle
from kafka_pareto_embedded.terminal.as_typed import as_typed

_SHOWN_BY_BATCHES = ("batch.size", "compression.type", "enable.idempotence", "linger.ms")


def print_report(request: DoctorRequest, settings: Settings) -> None:
    """Print the verdicts on the given cluster, or the stack's, or, if neither is available, this machine only.

    Raises:
        BadInputError: If an option is invalid.
        ClusterError: If the cluster cannot be reached.
    """
    settings = settings.model_copy(update={"java": find_java(os.environ) or settings.java})
    kafka = request.kafka or settings.bootstrap_servers or _embedded_cluster()
    report = examine(request.model_copy(update={"kafka": kafka}), load_guide(), settings)
    match request.format:
        case "json":
            print(report.model_dump_json(indent=2))
        case "html":
            print(as_typed(doctor_page(report)))
        case "text":
            print(as_typed(report_text(report)))


def print_audit(request: AuditRequest, settings: Settings, *, as_json: bool) -> None:
    """Print the traffic of the topics on the given cluster, or the stack's.

    Raises:
        BadInputError: If an option is invalid, or no cluster is named and the stack is down.
        ClusterError: If the cluster cannot be reached.
    """
    settings = settings.model_copy(update={"java": find_java(os.environ) or settings.java})
    kafka = _cluster_of(request, settings)
    report = audit(request, kafka, settings, _progress if sys.stderr.isatty() else lambda *_: None)
    print(report.model_dump_json(indent=2) if as_json else audit_text(report))
    if report.study is not None and not as_json:
        config = ["--config", str(request.kafka_config)] if request.kafka_config else []
        argv = ["kafka-pareto", "run", report.study, "--local", "--kafka", kafka, *config]
        print(f"\nStudy written: {report.study}. Run it, with the most that may be sent:")
        print(f"  {shlex.join(argv)} --ceiling-mib-s … --ceiling-gib …")


def print_verification(request: VerifyRequest, settings: Settings, *, as_json: bool) -> int:
    """Print which producers of a topic use the settings, and return the exit code.

    Raises:
        BadInputError: If an option or a file is invalid, the topic cannot be read, or no cluster is named and the stack
            is down.
        ClusterError: If the cluster cannot be reached.
    """
    settings = settings.model_copy(update={"java": find_java(os.environ) or settings.java})
    rollout = rollout_of(request, settings)
    found = verify(request, _cluster_of(request, settings), rollout, settings)
    print(found.model_dump_json(indent=2) if as_json else verification_text(found))
    return EXIT_OF_USE[found.use]


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
        wanted = _file(request.settings, "settings")
        if request.previous is None:
            return wanted
        previous = _file(request.previous, "previous")
        if previous.why_unpredicted:
            raise BadInputError(f"--previous: {request.previous}: {previous.why_unpredicted}")
        return replace(wanted, previous=previous.expected)
    if request.previous is not None:
        raise BadInputError("--previous: needs --settings; a study knows its previous settings")
    return _active(request, settings)


def _active(request: VerifyRequest, settings: Settings) -> Rollout:
    study, store = str(request.active), open_store(settings)
    cases = [request.case] if request.case else active_cases(store, study)
    if len(cases) > 1:
        raise BadInputError(f"--record-size: is missing; study {study} has active settings for {', '.join(cases)}")
    active = active_settings(store, study, cases[0]) if cases else None
    if active is None:
        at = f" for {request.case}" if request.case else ""
        raise BadInputError(f"--active: study {study} has no active settings{at}")
    if active.driver not in ("producer", "librdkafka"):
        raise BadInputError(f"--active: study {study} has driver {active.driver}, expected producer or librdkafka")
    source, now, before = f"study {study}, version {active.version}", active.properties, active.previous_properties
    if active.driver == "producer":
        return Rollout(source, now, before)
    return replace(_of_librdkafka(source, now), previous=_seen_in_batches(before))


def _file(path: Path, option: str) -> Rollout:
    place = f"--{option}: {path}"
    found = read_client_path(path, "producer", place, is_measured=False)
    if found.form == "librdkafka":
        return _of_librdkafka(str(path), read_client_path(path, "librdkafka", place, is_measured=False).used)
    unset = sorted(BATCH_SETTINGS.intersection(found.other_defaults))
    why = f"the settings do not state {' and '.join(unset)}, whose default depends on the client" if unset else ""
    return Rollout(str(path), found.used, None, frozenset(found.other_defaults), why)


def _of_librdkafka(source: str, settings: Mapping[str, PropertyValue]) -> Rollout:
    """Return the settings that batches show; its other rules for batches are predicted with their defaults only."""
    applied = LIBRDKAFKA.resolved(settings)
    usual = LIBRDKAFKA.resolved({name: applied[name] for name in BATCH_SETTINGS})
    other = [name for name in ("batch.num.messages", "sticky.partitioning.linger.ms") if applied[name] != usual[name]]
    why = f"the prediction assumes the default of {' and '.join(other)}" if other else ""
    return Rollout(source, _seen_in_batches(settings), why_unpredicted=why)


def _seen_in_batches(librdkafka: Mapping[str, PropertyValue]) -> dict[str, PropertyValue]:
    """Return the settings of librdkafka that batches show, for which Java's producer has the same names."""
    applied = LIBRDKAFKA.resolved(librdkafka)
    return {name: applied[name] for name in _SHOWN_BY_BATCHES}


def _cluster_of(request: ReadRequest, settings: Settings) -> str:
    """Return the named cluster, or the stack's."""
    kafka = request.kafka or settings.bootstrap_servers or _embedded_cluster()
    if kafka is None:
        raise BadInputError("the stack is down; name a cluster: KAFKA=host:port,…")
    return kafka


def _progress(read: int, of: int) -> None:
    print(f"\r{read} of {of} topics read", end="\n" if read == of else "", file=sys.stderr, flush=True)


def print_sizing(options: SizingOptions) -> None:
    """Print the resources the workload needs.

    Raises:
        BadInputError: If there are fewer brokers than replicas.
    """
    sizing = size_cluster(SizingRequest(**options.model_dump(exclude={"format"})))
    print(sizing.model_dump_json(indent=2) if options.format == "json" else sizing_text(sizing))


def _embedded_cluster() -> str | None:
    """Return the addresses of the embedded brokers; None if none is running."""
    stack, processes = lifecycle.status()
    is_up = any(process.is_running and process.name.startswith("kafka") for process in processes)
    return stack.bootstrap_servers if stack is not None and is_up else None
