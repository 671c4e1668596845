"""Check a cluster, its machines and its clients against the guide. Read only."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from pathlib import Path

from kafka_pareto.doctor.cluster_facts import ClusterFacts, cluster_facts
from kafka_pareto.doctor.guide import Guide
from kafka_pareto.doctor.host import Host, local_brokers
from kafka_pareto.doctor.readings import Places, file_systems, link_speed, read
from kafka_pareto.doctor.records import DoctorReport
from kafka_pareto.doctor.verdicts import Circumstances, judge
from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.client_rules import ClientName
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.kafka.user_settings import ClientFile, read_client_path
from kafka_pareto.measurement.own_topics import left_topics
from kafka_pareto.settings import Settings
from kafka_pareto.study.requests import DoctorRequest


def examine(request: DoctorRequest, guide: Guide, settings: Settings, host: Host | None = None) -> DoctorReport:
    """Run all checks; without a cluster, on this machine only.

    Raises:
        BadInputError: If a file cannot be read, or the topic or group does not exist.
        ClusterError: If the cluster cannot be reached.
    """
    if request.kafka is None:
        for name, value in (("TOPIC", request.topic), ("GROUP", request.group), ("KAFKA_CONFIG", request.kafka_config)):
            if value is not None:
                raise BadInputError(f"{name}={value} needs a cluster; pass KAFKA=host:port,…")
    files: dict[ClientName, Path | None] = {"producer": request.producer, "consumer": request.consumer}
    clients: dict[str, ClientFile] = {
        name: read_client_path(path, name, f"{name.upper()}={path}", is_measured=False)
        for name, path in files.items()
        if path is not None
    }
    facts: ClusterFacts | None = None
    left: tuple[str, ...] = ()
    if request.kafka is not None:
        with Cluster(request.kafka, request.kafka_config, settings) as cluster:
            facts = cluster_facts(cluster, guide, request.topic, request.group)
            left = tuple(left_topics(cluster))
    here = local_brokers(facts.brokers) if facts else []
    places = Places(host or Host(), facts, here, clients)
    return _report(request.kafka or "", guide, places, left)


def _report(kafka: str, guide: Guide, places: Places, left: tuple[str, ...]) -> DoctorReport:
    facts = places.cluster
    version = facts.kafka_version if facts else None
    linux = platform.release() if places.is_a_brokers_machine else None
    circumstances = Circumstances(
        version, linux, places.cores, link_speed(places), places.memory_gb_per_broker, file_systems(places)
    )
    return DoctorReport(
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        kafka=kafka,
        kafka_version=version,
        brokers=sorted(broker.id for broker in facts.brokers) if facts else [],
        brokers_here=sorted(broker.id for broker in places.here),
        cores=places.cores,
        guide=guide.title,
        source=guide.source,
        findings=[judge(check, read(check, places), circumstances) for check in guide.checks],
        topics_left=left,
        client_files={name: file.report_lines() for name, file in places.clients.items()},
    )
