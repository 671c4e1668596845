"""Print the reports of the commands `doctor`, `audit`, `verify` and `sizing`."""

from __future__ import annotations

import os
import shlex
import sys

from kafka_pareto.audit.audit import audit
from kafka_pareto.audit.text import audit_text
from kafka_pareto.audit.verification import verify
from kafka_pareto.audit.verification_text import verification_text
from kafka_pareto.doctor.examine import examine
from kafka_pareto.doctor.guide import load_guide
from kafka_pareto.doctor.page import doctor_page
from kafka_pareto.doctor.sizing import size_cluster, sizing_text
from kafka_pareto.doctor.text import report_text
from kafka_pareto.drivers.common.cluster_access import require_brokers
from kafka_pareto.errors import BadInputError
from kafka_pareto.exit_codes import EXIT_OF_USE
from kafka_pareto.settings import Settings
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
from kafka_pareto_embedded.runs.verified_settings import rollout_of
from kafka_pareto_embedded.terminal.as_typed import as_typed


def print_report(request: DoctorRequest, settings: Settings) -> None:
    """Print the verdicts on the given cluster, or the stack's, or, if neither is available, this machine only.

    Raises:
        BadInputError: If an option is invalid.
        ClusterError: If the cluster cannot be reached.
    """
    settings = settings.model_copy(update={"java": find_java(os.environ) or settings.java})
    kafka = request.kafka or settings.bootstrap_servers or _embedded_cluster()
    require_brokers(request.kafka_config, kafka or "")
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


def _cluster_of(request: ReadRequest, settings: Settings) -> str:
    """Return the named cluster, or the stack's."""
    kafka = request.kafka or settings.bootstrap_servers or _embedded_cluster()
    if kafka is None:
        raise BadInputError("the stack is down; name a cluster: KAFKA=host:port,…")
    require_brokers(request.kafka_config, kafka)
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
