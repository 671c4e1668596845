"""Describe a study's system and this machine, and refuse plans that do not fit them."""

from __future__ import annotations

import logging
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from ipaddress import ip_address, ip_interface
from pathlib import Path

import psutil

from kafka_pareto.analysis.wording import counted
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Fingerprint, Plan
from kafka_pareto.drivers.common.cluster_access import require_started_here, target_of
from kafka_pareto.drivers.common.cluster_mark import MARK_TOPIC, why_no_mark
from kafka_pareto.errors import ClusterError, PlanError
from kafka_pareto.kafka.cluster import Cluster, ClusterDescription
from kafka_pareto.measurement.driver_runtime import System
from kafka_pareto.measurement.fingerprint import CONTAINER, Container, client_machine, free_memory_bytes
from kafka_pareto.measurement.own_topics import topic_name
from kafka_pareto.settings import Settings
from kafka_pareto.study.sections import OwnBrokers
from kafka_pareto.study.study import Study
from kafka_pareto.study.topic_study import TopicStudy, topic_study

log = logging.getLogger(__name__)

_GIB = 1 << 30
_MIB = 1 << 20
# A broker's memory besides its heap, measured on three with 100 partitions: code, threads, network buffers.
_BESIDE_HEAP_MIB = 350
BESIDE_TOOL_HEAP_MIB = 300
_FREE_DISK_MARGIN = 1.2
_BROKERS_START_S = 15.0  # three of the study's own brokers with a topic of 100 partitions, on two cores
_BROKER_RESTART_S = 10.5  # in a rolling restart of these, after a load


def broker_starts_s(study: TopicStudy, repetitions: Mapping[str, int]) -> float:
    """Return the seconds own brokers take to start: once per case, or before each of its repetitions too."""
    if study.own_brokers is None:
        return 0.0
    restarts = sum(count for case, count in repetitions.items() if study.varies_brokers(case))
    return _BROKERS_START_S * len(repetitions) + _BROKER_RESTART_S * study.own_brokers.brokers * restarts


@contextmanager
def open_system(study: Study, settings: Settings, tool_memory_mib: Callable[[], int]) -> Iterator[System]:
    """Open the study's cluster; brokers of its own start only for the measurement.

    Args:
        study: Of any driver that loads a cluster.
        settings: Name the cluster that belongs to this installation.
        tool_memory_mib: Computes the memory of the load tool besides the study's own brokers, in MiB.

    Raises:
        BadInputError: If the settings name no cluster, or one wrongly taken for the stack's own.
        ClusterError: If it cannot be reached.
    """
    if study.own_brokers is not None:
        yield OwnBrokersSystem(study.own_brokers, tool_memory_mib())
        return
    with Cluster(*target_of(study, settings), settings) as cluster:
        require_started_here(cluster.describe().cluster_id, study, settings)
        yield ClusterSystem(cluster)


class ClusterSystem(System):
    """An existing cluster, open."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def fingerprint(self, campaign: Campaign, case: str) -> Fingerprint:
        """Describe the cluster and this machine as they are now."""
        return fingerprint_of(self._description, topic_study(campaign.study), topic_name(campaign.keys, case))

    def require_fit(self, plan: Plan, campaign: Campaign, case: str) -> None:
        """Refuse a plan that does not fit the brokers' disks; add missing safeguards to the plan.

        Raises:
            PlanError: With both numbers and the fix.
        """
        if campaign.study.cluster is not None:
            for line in missing_safeguards(self._cluster, self._description):
                log.warning("plan: %s", line)
        log_dirs = self._cluster.log_dirs(topic_name(campaign.keys, case))
        usable = [directory.usable_bytes for directory in log_dirs if directory.usable_bytes is not None]
        # Log folders of equal size count as one disk.
        disks = max(len({directory.total_bytes for directory in log_dirs}), 1)
        needed_bytes = plan.peak_disk_gib * _GIB * _FREE_DISK_MARGIN / disks
        if usable and min(usable) < needed_bytes:
            raise PlanError(
                f"the campaign may need up to {needed_bytes / _GIB:.1f} GiB on a broker's disk, but one has only "
                f"{min(usable) / _GIB:.1f} GiB free; free space, or send less data per repetition"
            )

    @cached_property
    def _description(self) -> ClusterDescription:
        description = self._cluster.describe()
        log.info("cluster %s, Kafka %s", description.cluster_id, description.kafka_version)
        return description


class OwnBrokersSystem(System):
    """The `System` of a study that starts its own brokers, which do not run yet.

    Attributes:
        needed_mib: The memory of all brokers and the load tool, in MiB.
    """

    def __init__(self, asked: OwnBrokers, tool_memory_mib: int, folder: Path | None = None) -> None:
        self._asked = asked
        self.needed_mib = asked.brokers * (asked.heap_mib + _BESIDE_HEAP_MIB) + tool_memory_mib + BESIDE_TOOL_HEAP_MIB
        self._folder = folder or Path(tempfile.gettempdir())

    def fingerprint(self, campaign: Campaign, case: str) -> Fingerprint:  # noqa: ARG002
        """Describe this machine; the brokers are described once they run."""
        return Fingerprint(
            system={"cluster_id": "own brokers"}, **client_machine(), load_and_brokers_share_a_machine=True
        )

    def require_fit(self, plan: Plan, campaign: Campaign, case: str) -> None:  # noqa: ARG002
        """Refuse a plan for which this machine lacks memory or disk.

        Raises:
            PlanError: With both numbers and the fix.
        """
        free_mib = free_memory_bytes() // _MIB
        if free_mib < self.needed_mib:
            raise PlanError(
                f"{self._asked} and the load generator need about {self.needed_mib:,} MiB of memory, but "
                f"{free_mib:,} MiB are free; use fewer brokers or less heap (testbed), or free memory"
            )
        needed_bytes, free_bytes = plan.peak_disk_gib * _GIB * _FREE_DISK_MARGIN, shutil.disk_usage(self._folder).free
        if free_bytes < needed_bytes:
            raise PlanError(
                f"the brokers may need up to {needed_bytes / _GIB:.1f} GiB in {self._folder}, but "
                f"{free_bytes / _GIB:.1f} GiB are free there; free space, or choose another folder with TMPDIR"
            )


def missing_safeguards(cluster: Cluster, description: ClusterDescription) -> list[str]:
    """List the protections of other users that this user's rights do not allow; empty if none is missing."""
    lines = []
    if refusal := why_no_mark(cluster, len(description.brokers)):
        lines.append(
            "other installations of this tool can load the cluster at the same time: this user may not create topic "
            f"{MARK_TOPIC}: {refusal}"
        )
    hidden = cluster.topics_on_brokers() - cluster.all_topics_health().topics
    if hidden > 0:
        lines.append(
            f"not watched: {counted(hidden, 'topic')} of the cluster. This user may not describe them, so harm to "
            "them does not stop the campaign; grant this user Describe on all topics"
        )
    return lines


def fingerprint_of(
    description: ClusterDescription, study: TopicStudy, topic: str, container: Container = CONTAINER
) -> Fingerprint:
    """Describe the cluster and the machine of this process."""
    return Fingerprint(
        system={
            "kafka_version": description.kafka_version or "unknown",
            # The study's own brokers get a new cluster ID at every start.
            "cluster_id": "own brokers" if study.own_brokers else description.cluster_id,
            "brokers": [f"{broker.host}:{broker.port}" for broker in description.brokers],
            "topic": topic,
            "topic_partitions": study.workload.topic_partitions,
            "replication_factor": study.workload.replication_factor,
            "min_insync_replicas": study.workload.min_insync_replicas,
            **({"broker_heap_mib": study.own_brokers.heap_mib} if study.own_brokers else {}),
        },
        **client_machine(container),
        load_and_brokers_share_a_machine=any(
            _is_on_this_machine(broker.host, container.docker_mark) for broker in description.brokers
        ),
    )


def fingerprint_of_own(cluster: Cluster, heap_mib: int) -> Fingerprint:
    """Describe brokers a driver starts for itself, and this machine.

    Raises:
        ClusterError: If they do not report their version.
    """
    version = cluster.describe().kafka_version
    if version is None:
        raise ClusterError("the brokers do not report their version")
    return Fingerprint(
        system={"kafka_version": version, "cluster_id": "own brokers", "broker_heap_mib": heap_mib},
        **client_machine(),
        load_and_brokers_share_a_machine=True,
    )


def _is_on_this_machine(host: str, docker_mark: Path) -> bool:
    """Return whether the host is this machine or, seen from a container, one on the same bridge."""
    own = [item for items in psutil.net_if_addrs().values() for item in items]
    addresses = {item.address for item in own}
    if host in {*addresses, socket.gethostname(), "localhost"}:
        return True
    try:
        address = ip_address(socket.gethostbyname(host))
    except OSError:
        return False
    if address.is_loopback or str(address) in addresses:
        return True
    if not docker_mark.exists():
        return False
    bridges = [ip_interface(f"{item.address}/{item.netmask}").network for item in own if item.family == socket.AF_INET]
    return any(address in bridge for bridge in bridges)
