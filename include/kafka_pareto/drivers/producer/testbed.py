"""The cluster, load tool, lease and topic to measure a record size with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from kafka_pareto.bottleneck.network import Address
from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.drivers.common.cluster_access import deleted_at_the_end, open_cluster
from kafka_pareto.drivers.common.load_tool import LoadTool
from kafka_pareto.drivers.common.producer_performance import ProducerPerformance
from kafka_pareto.drivers.common.systems import fingerprint_of
from kafka_pareto.drivers.producer.announced_machines import machines_of
from kafka_pareto.drivers.producer.cost import bytes_in_topic, bytes_of_a_repetition
from kafka_pareto.drivers.producer.load_generator import LoadGenerator
from kafka_pareto.drivers.producer.payload import PayloadFiles, payload_files
from kafka_pareto.drivers.producer.study import ProducerStudy
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.measurement.fingerprint import keep_fingerprint
from kafka_pareto.measurement.own_topics import topic_configs, topic_name
from kafka_pareto.settings import Settings
from kafka_pareto.storage.lease import Lease
from kafka_pareto.study.workload import SentTopic


@dataclass(frozen=True)
class Testbed:
    """Everything measuring needs from outside; `brokers` are the study's own, if any."""

    cluster: Cluster
    load_tool: LoadTool
    lease: Lease
    topic: str
    payloads: PayloadFiles
    brokers: Brokers | None = None
    addresses: tuple[Address, ...] = ()
    jvm_is_warm: bool = False

    __test__ = False  # the word is the field's; pytest would take it for a test class


@contextmanager
def open_testbed(campaign: Campaign, case: str, settings: Settings) -> Iterator[Testbed]:
    """Open the cluster, take its lease, and create the topic, which is deleted on leaving; start own brokers.

    Raises:
        BadInputError: If the settings lack the study's load machines.
        LoadMachineError: If Airflow does not run them in time.
        ClusterError: If the cluster cannot be reached or the topic may not be created, or a broker does not start.
        LeaseHeldError: If another load runs on the cluster, or on this machine if the brokers are the study's own.
    """
    study, topic = ProducerStudy.of(campaign.study), topic_name(campaign.keys, case)
    machines = machines_of(campaign, settings)
    with ExitStack() as opened:
        system = opened.enter_context(open_cluster(study, case, campaign.store, settings))
        found = fingerprint_of(system.description, study, topic)
        if machines is not None:
            found = found.model_copy(update={"system": {**found.system, "load_machines": list(machines.addresses)}})
        keep_fingerprint(campaign, case, found)
        opened.enter_context(deleted_at_the_end(system, [topic]))
        is_warm = study.protocol.jvm == "warm"
        topics = study.topics_of(case)
        if len(topics) > 1:  # a killed step may have left another level's
            system.cluster.delete_topic(topic)
        create_topic(system.cluster, topic, topics[0], bytes_of_a_repetition(study, case))
        load_tool: LoadTool = ProducerPerformance(system.bootstrap_servers, system.client_config, settings)
        if study.protocol.load_tool == "load_generator":
            generator = LoadGenerator(
                system.bootstrap_servers,
                system.client_config,
                settings,
                has_brokers=found.load_and_brokers_share_a_machine,
                keeps_jvm=is_warm,
                machines=machines,
                cluster_id=system.description.cluster_id,
            )
            load_tool = opened.enter_context(generator)
        payloads = opened.enter_context(payload_files(campaign))
        addresses = tuple((broker.host, broker.port) for broker in system.description.brokers)
        yield Testbed(system.cluster, load_tool, system.lease, topic, payloads, system.brokers, addresses, is_warm)


def create_topic(cluster: Cluster, name: str, topic: SentTopic, repetition_bytes: int) -> None:
    """Create a topic for repetitions of this size.

    Raises:
        ClusterError: If it cannot be created, or exists with other counts.
    """
    configs = topic_configs(topic, bytes_in_topic(topic, repetition_bytes))
    cluster.create_topic(name, topic.topic_partitions, topic.replication_factor, configs)
