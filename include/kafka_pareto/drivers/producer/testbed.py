"""The testbed: the cluster, the load tool, the lease and the topic that a record size is measured with."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from kafka_pareto.bottleneck.broker_metrics import BROKER_METRICS
from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.drivers.producer.fingerprint import fingerprint_of
from kafka_pareto.drivers.producer.payload_files import PayloadFiles, payload_files
from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.client_properties import read_client_config
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.kafka.producer_config import DEFAULTS
from kafka_pareto.kafka.properties_file import parse_properties
from kafka_pareto.load.load_generator import LoadGenerator
from kafka_pareto.load.producer_performance import ProducerPerformance
from kafka_pareto.load.tool import LoadTool
from kafka_pareto.measurement.fingerprint import keep_fingerprint
from kafka_pareto.measurement.limits import SEGMENT_BYTES
from kafka_pareto.settings import Settings
from kafka_pareto.storage.lease import ClusterLease
from kafka_pareto.study.cluster_names import server_set, servers_of
from kafka_pareto.study.factors import FactorValue
from kafka_pareto.study.producer_study import ProducerStudy
from kafka_pareto.study.sections import ForeignCluster
from kafka_pareto.study.study import Study
from kafka_pareto.study.workload import Topic

log = logging.getLogger(__name__)

# Long enough for a killed holder's lease to lapse; whoever has to wait longer waits in Airflow's pool, not here.
_LEASE_WAIT_S = 120.0
# Each partition keeps up to a segment of what was deleted, on every replica: of 100 partitions that would be 38 GiB.
_FEW_PARTITIONS = 12
_SMALL_SEGMENT_BYTES = 16 << 20


@dataclass(frozen=True)
class Testbed:
    """Holds what measuring needs of the outside world.

    `broker_hosts` are where the brokers are; `brokers` are the study's own, if it has any.
    """

    cluster: Cluster
    load_tool: LoadTool
    lease: ClusterLease
    topic: str
    payloads: PayloadFiles
    brokers: Brokers | None = None
    broker_hosts: tuple[str, ...] = ()
    jvm_is_warm: bool = False

    __test__ = False  # the word is the field's; pytest would take it for a test class

    def restart_brokers(self, properties: Mapping[str, FactorValue]) -> None:
        """Starts the study's own brokers anew with these properties.

        Raises:
            ClusterError: If one does not start.
        """
        if self.brokers is None:
            raise RuntimeError("only brokers of the study's own are restarted")
        self.brokers.reconfigure(properties)


def target_of(study: Study, settings: Settings) -> tuple[str, Path | None]:
    """The bootstrap servers and the client configuration of the cluster that the study is about.

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


def topic_name(keys: CampaignKeys, case: str) -> str:
    """The topic of one record size; all of a study's topics share the prefix `kafka-pareto.<study>.`."""
    return f"kafka-pareto.{keys.study}.{keys.campaign}.{case}"


def topic_configs(topic: Topic) -> dict[str, str]:
    """The settings of every topic that is measured."""
    return {
        "min.insync.replicas": str(topic.min_insync_replicas),
        # Deleted records leave the disk only in whole segments.
        "segment.bytes": str(SEGMENT_BYTES if topic.topic_partitions <= _FEW_PARTITIONS else _SMALL_SEGMENT_BYTES),
        "file.delete.delay.ms": "1000",
    }


@contextmanager
def open_testbed(campaign: Campaign, case: str, settings: Settings) -> Iterator[Testbed]:
    """Opens the cluster, takes its lease, and creates the topic if it is not there; starts the study's own brokers.

    Raises:
        ClusterError: If the cluster cannot be reached or the topic may not be created, or a broker does not start.
        LeaseHeldError: If another load runs on the cluster, or on this machine where the brokers are the study's own.
    """
    study, topic = campaign.producer, topic_name(campaign.keys, case)
    with ExitStack() as opened:
        brokers = None
        if study.own_brokers is None:
            bootstrap_servers, client_config = target_of(study, settings)
            cluster = opened.enter_context(Cluster(bootstrap_servers, client_config, settings))
            description = cluster.describe()
            lease = opened.enter_context(ClusterLease(campaign.store, description.cluster_id, _LEASE_WAIT_S))
        else:
            lease = opened.enter_context(ClusterLease(campaign.store, _machine_lease(), _LEASE_WAIT_S))
            brokers = opened.enter_context(_own_brokers(study, case, settings))
            bootstrap_servers, client_config = brokers.bootstrap_servers, None
            cluster = opened.enter_context(Cluster(bootstrap_servers, client_config, settings))
            description = cluster.describe()
        found = fingerprint_of(description, study, topic)
        keep_fingerprint(campaign, case, found)
        cluster.create_topic(
            topic, study.workload.topic_partitions, study.workload.replication_factor, topic_configs(study.workload)
        )
        load_tool: LoadTool = ProducerPerformance(bootstrap_servers, client_config, settings)
        if study.protocol.load_tool == "load_generator":
            generator = LoadGenerator(
                bootstrap_servers,
                client_config,
                settings,
                has_brokers=found.load_and_brokers_share_a_machine,
                keeps_jvm=study.protocol.jvm == "warm",
            )
            load_tool = opened.enter_context(generator)
        payloads = opened.enter_context(payload_files(campaign))
        hosts = tuple(broker.host for broker in description.brokers)
        is_warm = study.protocol.jvm == "warm"
        yield Testbed(cluster, load_tool, lease, topic, payloads, brokers, hosts, is_warm)


def _own_brokers(study: ProducerStudy, case: str, settings: Settings) -> Brokers:
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


def _machine_lease() -> str:
    """Returns the name of the lease of this machine: the study's own brokers are new at every start."""
    return f"machine-{socket.gethostname()}"
