"""Open the cluster a study works on, existing or started for it, and hold its lease."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from kafka_pareto.bottleneck.broker_metrics import BROKER_METRICS
from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.drivers.common.cluster_mark import exclusive_load
from kafka_pareto.errors import BadInputError, ClusterError
from kafka_pareto.kafka import consumer_properties, librdkafka_properties
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

# Long enough for a killed holder's lease to lapse; longer waits belong in Airflow's pool.
LEASE_WAIT_S = 120.0
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class OpenCluster:
    """A cluster reserved for one load; `brokers` are the study's own, if any."""

    cluster: Cluster
    description: ClusterDescription
    lease: Lease
    bootstrap_servers: str
    client_config: Path | None
    brokers: Brokers | None = None


def target_of(study: Study, settings: Settings) -> tuple[str, Path | None]:
    """Return the bootstrap servers and the client configuration of the study's cluster.

    Raises:
        BadInputError: If there is none, or if the client configuration is missing, unreadable, or for other brokers.
    """
    if study.cluster is None:
        if not settings.bootstrap_servers:
            raise BadInputError(
                "no cluster is configured: set KAFKA_PARETO_BOOTSTRAP_SERVERS, or specify one for the campaign"
            )
        return settings.bootstrap_servers, None
    if study.cluster.client_config is None:
        return study.cluster.bootstrap_servers, None
    path = settings.client_configs / study.cluster.client_config
    if not path.is_file():
        raise BadInputError(
            f"client_config: {study.cluster.client_config}: there is no such file in {path.parent}; a file "
            "passed by KAFKA_CONFIG=… is deleted when its campaign ends: pass it again, with CAMPAIGN=…"
        )
    properties = parse_properties(read_client_config(path))
    _require_own_brokers(study.cluster, properties.get("bootstrap.servers", ""), settings)
    _require_login_only(
        f"client_config: {study.cluster.client_config}",
        properties,
        "move settings that tune the producer to the study's baseline",
        "move settings that tune a consumer to the reference of a study with driver consumer",
    )
    return study.cluster.bootstrap_servers, path


def require_login(path: Path, bootstrap_servers: str) -> None:
    """Require that the user's `client.properties` is for these brokers and tunes no client.

    Raises:
        BadInputError: If it is not, or cannot be read.
    """
    require_brokers(path, bootstrap_servers)
    _require_login_only(
        f"KAFKA_CONFIG: {path}",
        parse_properties(read_client_config(path)),
        "remove settings that tune a producer",
        "remove settings that tune a consumer",
    )


def require_brokers(path: Path | None, bootstrap_servers: str) -> None:
    """Require that the user's `client.properties`, if any, is for these brokers; one without addresses is for any.

    Raises:
        BadInputError: If it is not, or cannot be read.
    """
    if path is not None:
        allowed = server_set(parse_properties(read_client_config(path)).get("bootstrap.servers", ""))
        _require_brokers(f"KAFKA_CONFIG: {path}", allowed, bootstrap_servers)


def _require_login_only(place: str, properties: Mapping[str, str], producer_fix: str, consumer_fix: str) -> None:
    of_consumers = {*consumer_properties.DEFAULTS, consumer_properties.AUTO_OFFSET_RESET}
    of_producers = {*DEFAULTS, *librdkafka_properties.DEFAULTS, *librdkafka_properties.ALIASES}
    for names, fix in ((of_producers, producer_fix), (of_consumers, consumer_fix)):
        if tunable := sorted(names & set(properties)):
            raise BadInputError(
                f"{place}: {', '.join(tunable)}: only addresses and credentials are allowed here; {fix}"
            )


def _require_own_brokers(cluster: ForeignCluster, servers_in_file: str, settings: Settings) -> None:
    """Refuse to send credentials to brokers they are not meant for.

    Brokers are approved by the servers listed beside the file's name in a study, or by the file's own
    `bootstrap.servers`. A file without either may go to any.

    Raises:
        BadInputError: If these are other brokers, or if a study that may approve them cannot be read.
    """
    allowed, files = server_set(servers_in_file), sorted(settings.studies.glob("*.yaml"))
    try:
        allowed |= servers_of(cluster.client_config or "", files)
    except BadInputError:
        if not allowed:
            raise
    _require_brokers(f"client_config: {cluster.client_config}", allowed, cluster.bootstrap_servers)


def _require_brokers(place: str, allowed: Set[str], bootstrap_servers: str) -> None:
    others = server_set(bootstrap_servers) - allowed
    if allowed and others:
        raise BadInputError(
            f"{place}: its credentials are for {', '.join(sorted(allowed))}, not for "
            f"{', '.join(sorted(others))}; use another client configuration for these brokers, or add them "
            "to the file's bootstrap.servers"
        )


def require_started_here(cluster_id: str, study: Study, settings: Settings) -> None:
    """Refuse to load a cluster as the stack's own, without ceilings, unless the stack started it.

    Raises:
        BadInputError: If the study names no cluster, and the installation's was not started by its stack.
    """
    if study.cluster is None and study.own_brokers is None and cluster_id != settings.own_cluster_id:
        raise BadInputError(
            f"KAFKA_PARETO_BOOTSTRAP_SERVERS={settings.bootstrap_servers}: cluster {cluster_id} was not started by "
            "this installation's stack (KAFKA_PARETO_OWN_CLUSTER_ID), so others may depend on it: name it "
            "in the campaign or the study (cluster), with ceilings and consent"
        )


@contextmanager
def open_cluster(study: TopicStudy, case: str, store: Store, settings: Settings) -> Iterator[OpenCluster]:
    """Open the study's cluster and take its lease; start the study's own brokers with the case's baseline.

    Raises:
        ClusterError: If the cluster cannot be reached, or a broker does not start.
        LeaseHeldError: If another load runs on the cluster, or on this machine if the study starts brokers.
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
        log.info("starting the study's own brokers: %d", study.own_brokers.brokers)
        own_brokers = Brokers(
            study.own_brokers.brokers,
            settings,
            properties=study.broker_properties(study.baseline_configuration(case)),
            heap_mib=study.own_brokers.heap_mib,
            jmx_configuration=BROKER_METRICS,
        )
        brokers = opened.enter_context(own_brokers)
        cluster = opened.enter_context(Cluster(brokers.bootstrap_servers, None, settings))
        yield OpenCluster(cluster, cluster.describe(), lease, brokers.bootstrap_servers, None, brokers)


@contextmanager
def deleted_at_the_end(system: OpenCluster, topics: Sequence[str]) -> Iterator[None]:
    """Delete the topics when the context ends. A topic that cannot be deleted is logged and hides no other error.

    Topics on the study's own brokers disappear with them. If the lease was lost, the next attempt may be using the
    topics.
    """
    try:
        yield
    finally:
        for topic in topics if system.brokers is None else ():
            if not system.lease.is_held():
                log.warning("the lease was lost: topic %s is left to the next attempt of this step", topic)
                continue
            try:
                system.cluster.delete_topic(topic)
            except ClusterError as error:
                log.warning("topic %s could not be deleted; `make remove-topics` deletes it: %s", topic, error)


def machine_lease(boot_id: Path = _BOOT_ID) -> str:
    """Return the name of this machine's lease, for studies that start brokers.

    It is the boot ID, which containers share with their host, unlike the host name.
    """
    try:
        return f"machine-{boot_id.read_text(encoding='ascii').strip()}"
    except OSError:
        return f"machine-{socket.gethostname()}"
