"""The fingerprint: cluster and machine as found when a campaign began to measure."""

from __future__ import annotations

import math
import platform
import socket
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address, ip_interface
from pathlib import Path

import psutil

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Fingerprint
from kafka_pareto.errors import BadInputError, MissingArtifactError
from kafka_pareto.kafka.cluster import ClusterDescription
from kafka_pareto.study.producer_study import ProducerStudy


def keep_fingerprint(campaign: Campaign, case: str, found: Fingerprint) -> None:
    """Writes the fingerprint when a record size is begun; later tries must find the same cluster.

    Raises:
        BadInputError: If the cluster is another one or runs another Kafka now.
    """
    key = campaign.keys.fingerprint(case)
    try:
        known = campaign.read_record(key, Fingerprint)
    except MissingArtifactError:
        campaign.write_record(key, found)
        return
    for name in ("cluster_id", "kafka_version"):
        before, now = getattr(known, name), getattr(found, name)
        if before != now:
            raise BadInputError(
                f"{key}: {name}: the campaign was begun on {before}, this is {now}; measurements of the two do "
                "not mix, so start a new campaign"
            )


@dataclass(frozen=True)
class Container:
    """Names the files by which a container shows: Docker's mark, and the limit of its CPU time."""

    docker_mark: Path = Path("/.dockerenv")
    cpu_limit: Path = Path("/sys/fs/cgroup/cpu.max")


CONTAINER = Container()


def fingerprint_of(
    description: ClusterDescription, study: ProducerStudy, topic: str, container: Container = CONTAINER
) -> Fingerprint:
    """The cluster as described and the machine that this process runs on."""
    return Fingerprint(
        kafka_version=description.kafka_version or "unknown",
        cluster_id=description.cluster_id,
        brokers=[f"{broker.host}:{broker.port}" for broker in description.brokers],
        topic=topic,
        topic_partitions=study.workload.topic_partitions,
        replication_factor=study.workload.replication_factor,
        min_insync_replicas=study.workload.min_insync_replicas,
        client_host=socket.gethostname(),
        client_cpu=_cpu_model(),
        client_cores=_cores(container.cpu_limit),
        client_kernel=platform.release(),
        load_and_brokers_share_a_machine=any(
            _is_on_this_machine(broker.host, container.docker_mark) for broker in description.brokers
        ),
    )


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


def _cores(cpu_limit: Path) -> int:
    """The machine's, or as many as a container's limit comes to, a part of one counted as one."""
    cores = psutil.cpu_count() or 0
    with suppress(OSError, ValueError):  # there is no limit, or it reads `max`
        quota_us, period_us = map(int, cpu_limit.read_text(encoding="ascii").split())
        return min(cores, math.ceil(quota_us / period_us))
    return cores


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
