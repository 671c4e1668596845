"""The testbed: the cluster, the load tool, the lease and the topic that a record size is measured with."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kafka_pareto.bottleneck.host_counters import BrokerProbes
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.drivers.producer.fingerprint import fingerprint_of
from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.client_properties import read_client_config
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.kafka.producer_config import DEFAULTS
from kafka_pareto.kafka.properties_file import parse_properties
from kafka_pareto.load.load_generator import LoadGenerator
from kafka_pareto.load.payload import payload_lines
from kafka_pareto.load.producer_performance import ProducerPerformance
from kafka_pareto.load.tool import LoadTool
from kafka_pareto.measurement.fingerprint import keep_fingerprint
from kafka_pareto.measurement.limits import SEGMENT_BYTES
from kafka_pareto.settings import Settings
from kafka_pareto.storage.lease import ClusterLease
from kafka_pareto.study.cases import case_seed
from kafka_pareto.study.cluster_names import server_set, servers_of
from kafka_pareto.study.sections import ForeignCluster
from kafka_pareto.study.study import Study
from kafka_pareto.study.workload import PayloadFile, Workload

# Long enough for a killed holder's lease to lapse; whoever has to wait longer waits in Airflow's pool, not here.
_LEASE_WAIT_S = 120.0


@dataclass(frozen=True)
class Testbed:
    """Holds what measuring needs of the outside world; without a `payload_file` records are random letters.

    `broker_hosts` are where the brokers are; `probes` reads those that belong to this process.
    """

    cluster: Cluster
    load_tool: LoadTool
    lease: ClusterLease
    topic: str
    payload_file: Path | None = None
    broker_hosts: tuple[str, ...] = ()
    probes: BrokerProbes | None = None
    jvm_is_warm: bool = False

    __test__ = False  # the word is the field's; pytest would take it for a test class


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


def topic_configs(workload: Workload) -> dict[str, str]:
    """The settings of every topic that is measured."""
    return {
        "min.insync.replicas": str(workload.min_insync_replicas),
        # Deleted records leave the disk only in whole segments.
        "segment.bytes": str(SEGMENT_BYTES),
        "file.delete.delay.ms": "1000",
    }


@contextmanager
def open_testbed(
    campaign: Campaign, case: str, settings: Settings, probes: BrokerProbes | None = None
) -> Iterator[Testbed]:
    """Opens the cluster, takes its lease, and creates the topic if it is not there.

    `probes` are the cluster's brokers, where they belong to this process.

    Raises:
        ClusterError: If the cluster cannot be reached or the topic may not be created.
        LeaseHeldError: If another load runs on the cluster.
    """
    bootstrap_servers, client_config = target_of(campaign.study, settings)
    topic = topic_name(campaign.keys, case)
    workload = campaign.producer.workload
    with Cluster(bootstrap_servers, client_config, settings) as cluster:
        description = cluster.describe()
        with ClusterLease(campaign.store, description.cluster_id, _LEASE_WAIT_S) as lease:
            cluster.create_topic(
                topic,
                workload.topic_partitions,
                workload.replication_factor,
                topic_configs(workload),
            )
            found = fingerprint_of(description, campaign.producer, topic)
            keep_fingerprint(campaign, case, found)
            protocol = campaign.producer.protocol
            with ExitStack() as opened:
                load_tool: LoadTool = ProducerPerformance(bootstrap_servers, client_config, settings)
                if protocol.load_tool == "load_generator":
                    generator = LoadGenerator(
                        bootstrap_servers,
                        client_config,
                        settings,
                        has_brokers=found.load_and_brokers_share_a_machine,
                        keeps_jvm=protocol.jvm == "warm",
                    )
                    load_tool = opened.enter_context(generator)
                payload_file = opened.enter_context(_payload_file(campaign, case))
                yield Testbed(
                    cluster,
                    load_tool,
                    lease,
                    topic,
                    payload_file,
                    broker_hosts=tuple(broker.host for broker in description.brokers),
                    probes=probes,
                    jvm_is_warm=protocol.jvm == "warm",
                )


@contextmanager
def _payload_file(campaign: Campaign, case: str) -> Iterator[Path | None]:
    """The study's payload as the load tools read it, for as long as it is needed; None where they make their own."""
    payload = campaign.producer.workload.payload
    if payload == "random":
        yield None
        return
    corpus = None
    if isinstance(payload, PayloadFile):
        corpus = campaign.store.get(campaign.keys.payload()).decode()
    rng = np.random.default_rng([campaign.study.seed, case_seed(case)])
    record_size_bytes = campaign.producer.record_size_bytes(case)
    with tempfile.TemporaryDirectory(prefix="kafka-pareto-payload-") as folder:
        file = Path(folder) / "records.txt"
        file.write_text(
            "\n".join(payload_lines(payload, record_size_bytes, corpus, rng)) + "\n",
            encoding="utf-8",
        )
        yield file
