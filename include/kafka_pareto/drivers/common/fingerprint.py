"""Describes the cluster and the machine that repetitions are measured on."""

from __future__ import annotations

import socket
from ipaddress import ip_address, ip_interface
from pathlib import Path

import psutil

from kafka_pareto.campaign.records import Fingerprint
from kafka_pareto.kafka.cluster import ClusterDescription
from kafka_pareto.measurement.fingerprint import CONTAINER, Container, client_machine
from kafka_pareto.study.topic_study import TopicStudy


def fingerprint_of(
    description: ClusterDescription, study: TopicStudy, topic: str, container: Container = CONTAINER
) -> Fingerprint:
    """The cluster as described and the machine that this process runs on."""
    return Fingerprint(
        system={
            "kafka_version": description.kafka_version or "unknown",
            "cluster_id": "own brokers" if study.own_brokers else description.cluster_id,
            "brokers": [f"{broker.host}:{broker.port}" for broker in description.brokers],
            "topic": topic,
            "topic_partitions": study.workload.topic_partitions,
            "replication_factor": study.workload.replication_factor,
            "min_insync_replicas": study.workload.min_insync_replicas,
            **_own_brokers(study),
        },
        **client_machine(container),
        load_and_brokers_share_a_machine=any(
            _is_on_this_machine(broker.host, container.docker_mark) for broker in description.brokers
        ),
    )


def _own_brokers(study: TopicStudy) -> dict[str, int]:
    """Returns what is known of brokers that the study starts itself; they are new, with another id, at every start."""
    own = study.own_brokers
    return {} if own is None else {"broker_heap_mib": own.heap_mib}


def _is_on_this_machine(host: str, docker_mark: Path) -> bool:
    """Returns whether the host is this machine or, seen from a container, one on the same bridge."""
    own = [item for items in psutil.net_if_addrs().values() for item in items]
    if host in {*(item.address for item in own), socket.gethostname(), "localhost"}:
        return True
    if not docker_mark.exists():
        return False
    bridges = [ip_interface(f"{item.address}/{item.netmask}").network for item in own if item.family == socket.AF_INET]
    try:
        address = ip_address(socket.gethostbyname(host))
    except OSError:
        return False
    return any(address in bridge for bridge in bridges)
