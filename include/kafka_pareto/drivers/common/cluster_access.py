"""Opens the cluster that a study works on: one that is there, or brokers of its own; with the lease of either."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from kafka_pareto.bottleneck.broker_metrics import BROKER_METRICS
from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.drivers.common.cluster_mark import exclusive_load
from kafka_pareto.errors import BadInputError, ClusterError
from kafka_pareto.kafka.client_properties import read_client_config
from kafka_pareto.kafka.cluster import Cluster, ClusterDescription
from kafka_pareto.kafka.known_properties import DEFAULTS
from kafka_pareto.kafka.properties_file import parse_properties
from kafka_pareto.settings import Settings
from kafka_pareto.storage.lease import ClusterLease, Lease
from kafka_pareto.storage.store import Store
from kafka_pareto.study.cluster_names import server_set, servers_of
from kafka_pareto.study.sections import ForeignCluster
from kafka_pareto.study.study import Study
from kafka_pareto.study.topic_study import TopicStudy

log = logging.getLogger(__name__)

# Long enough for a killed holder's lease to lapse; whoever has to wait longer waits in Airflow's pool, not here.
LEASE_WAIT_S = 120.0
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class OpenCluster:
    """Holds a cluster that nobody else loads meanwhile; `brokers` are the study's own, if it has any."""

    cluster: Cluster
    description: ClusterDescription
    lease: Lease
    bootstrap_servers: str
    client_config: Path | None
    brokers: Brokers | None = None


def target_of(study: Study, settings: Settings) -> tuple[str, Path | None]:
    """Returns the bootstrap servers and the client configuration of the cluster that the study is about.

    Raises:
        BadInputError: If there is none; if the client configuration is not where it should be, cannot be read, or is
            for other brokers.
    """
    if study.cluster is None:
        if not settings.bootstrap_servers:
            raise BadInputError("no cluster: set KAFKA_PARETO_BOOTSTRAP_SERVERS, or name one for the campaign")
        return settings.bootstrap_servers, None
    if study.cluster.client_config is None:
        return study.cluster.bootstrap_servers, None
    path = settings.client_configs / study.cluster.client_config
    if not path.is_file():
        raise BadInputError(
            f"client_config: {study.cluster.client_config}: there is no such file in {path.parent}; one that "
            "was handed over by KAFKA_CONFIG=… goes when its campaign ends: name it again, with CAMPAIGN=…"
        )
    properties = parse_properties(read_client_config(path))
    _require_own_brokers(study.cluster, properties.get("bootstrap.servers", ""), settings)
    if tunable := sorted(set(properties) & set(DEFAULTS)):
        raise BadInputError(
            f"client_config: {study.cluster.client_config}: {', '.join(tunable)}: it holds addresses and credentials; "
            "what tunes the producer belongs into the study's baseline"
        )
    return study.cluster.bootstrap_servers, path


def _require_own_brokers(cluster: ForeignCluster, servers_in_file: str, settings: Settings) -> None:
    """Sends credentials to no brokers but those that they are for, whoever names others: these would learn them.

    Whoever may write studies or client configurations says so: studies by the servers beside the file's name, the file
    by its own `bootstrap.servers`; where both do, to either. A file of which nobody says so goes to any.

    Raises:
        BadInputError: If these are other brokers, or if a study that may say so cannot be read.
    """
    allowed, files = server_set(servers_in_file), sorted(settings.studies.glob("*.yaml"))
    try:
        allowed |= servers_of(cluster.client_config or "", files)
    except BadInputError:
        if not allowed:
            raise
    others = server_set(cluster.bootstrap_servers) - allowed
    if allowed and others:
        raise BadInputError(
            f"client_config: {cluster.client_config}: its credentials are for {', '.join(sorted(allowed))}, not for "
            f"{', '.join(sorted(others))}; give these brokers a client configuration of their own, or have them added "
            "to the file's bootstrap.servers"
        )


def servers_of_others(study: Study, settings: Settings) -> str:
    """Returns the installation's servers if the study would load them and our stack did not start them; else empty.

    Whose a cluster is follows from who started its brokers, not from how it was named: the stack that did says its id.
    """
    loads_them = isinstance(study, TopicStudy) and study.own_brokers is None and study.cluster is None
    return settings.bootstrap_servers if loads_them and not settings.own_cluster_id else ""


def require_started_here(cluster_id: str, study: Study, settings: Settings) -> None:
    """Refuses to take a cluster for the stack's own, which is loaded without ceilings, that the stack has not started.

    Raises:
        BadInputError: If the study names no cluster, and the installation's is not the one that its stack has started.
    """
    if study.cluster is None and study.own_brokers is None and cluster_id != settings.own_cluster_id:
        raise BadInputError(
            f"KAFKA_PARETO_BOOTSTRAP_SERVERS={settings.bootstrap_servers}: cluster {cluster_id} was not started by "
            "this installation's stack (KAFKA_PARETO_OWN_CLUSTER_ID), so others may depend on it: name it for the "
            "campaign, or in the study (cluster), with ceilings and consent"
        )


@contextmanager
def open_cluster(study: TopicStudy, case: str, store: Store, settings: Settings) -> Iterator[OpenCluster]:
    """Opens the study's cluster and takes its lease; starts the study's own brokers, as the case's baseline needs them.

    Raises:
        ClusterError: If the cluster cannot be reached, or a broker does not start.
        LeaseHeldError: If another load runs on the cluster, or on this machine where the brokers are the study's own.
    """
    with ExitStack() as opened:
        if study.own_brokers is None:
            servers, client_config = target_of(study, settings)
            cluster = opened.enter_context(Cluster(servers, client_config, settings))
            description = cluster.describe()
            require_started_here(description.cluster_id, study, settings)
            lease: Lease = opened.enter_context(exclusive_load(store, cluster, description, LEASE_WAIT_S))
            yield OpenCluster(cluster, description, lease, servers, client_config)
            return
        lease = opened.enter_context(ClusterLease(store, machine_lease(), LEASE_WAIT_S))
        brokers = opened.enter_context(_own_brokers(study, case, settings))
        cluster = opened.enter_context(Cluster(brokers.bootstrap_servers, None, settings))
        yield OpenCluster(cluster, cluster.describe(), lease, brokers.bootstrap_servers, None, brokers)


@contextmanager
def deleted_at_the_end(system: OpenCluster, topics: Sequence[str]) -> Iterator[None]:
    """Deletes the topics when the context ends, in whatever state; what stays after all is said, and hides no error.

    Topics on the study's own brokers go with these. Where the lease was lost, the step's next try may use the topics.
    """
    try:
        yield
    finally:
        for topic in topics if system.brokers is None else ():
            if not system.lease.is_held():
                log.warning("the lease was lost: topic %s is left to the next try of this step", topic)
                continue
            try:
                system.cluster.delete_topic(topic)
            except ClusterError as error:
                log.warning("topic %s is left on the cluster, until `make remove-topics` removes it: %s", topic, error)


def _own_brokers(study: TopicStudy, case: str, settings: Settings) -> Brokers:
    asked = study.own_brokers
    if asked is None:
        raise RuntimeError(f"study {study.name} has no brokers of its own")
    properties = study.broker_properties(study.baseline_configuration(case))
    log.info("starting %d brokers of the study's own", asked.brokers)
    return Brokers(
        asked.brokers,
        settings,
        properties=properties,
        heap_mib=asked.heap_mib,
        jmx_configuration=BROKER_METRICS,
    )


def machine_lease(boot_id: Path = _BOOT_ID) -> str:
    """Returns the name of the lease of this machine: the study's own brokers are new at every start.

    Containers of Docker and Kubernetes have names of their own, and share the id of their machine's boot.
    """
    try:
        return f"machine-{boot_id.read_text(encoding='ascii').strip()}"
    except OSError:
        return f"machine-{socket.gethostname()}"
