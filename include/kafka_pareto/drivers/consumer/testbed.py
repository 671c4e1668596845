"""The testbed of consumers: the cluster, its lease, a filled topic, and a topic for live records."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.drivers.common.cluster_access import deleted_at_the_end, open_cluster
from kafka_pareto.drivers.common.load_tool import LoadRequest
from kafka_pareto.drivers.common.producer_performance import ProducerPerformance
from kafka_pareto.drivers.common.systems import fingerprint_of
from kafka_pareto.drivers.consumer.load import ConsumerLoad
from kafka_pareto.drivers.consumer.studies import CompareConsumer, ReadWorkload
from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.measurement.fingerprint import keep_fingerprint
from kafka_pareto.measurement.own_topics import topic_configs, topic_name
from kafka_pareto.settings import Settings
from kafka_pareto.storage.lease import Lease

log = logging.getLogger(__name__)

_FILL_TIMEOUT_S = 900.0
_SLOWEST_FILL_BYTES_S = 20 << 20
_FOLLOWED_ON_DISK = 4  # repetitions stay there until their block ends; a group reads the newest


@dataclass(frozen=True)
class ConsumerTestbed:
    """The external resources for measuring consumers.

    Attributes:
        topic: Holds the records to read.
        live_topic: Receives the records sent while a group follows.
        brokers: The study's own, if any.
    """

    cluster: Cluster
    load_tool: ConsumerLoad
    lease: Lease
    topic: str
    live_topic: str
    brokers: Brokers | None = None


@contextmanager
def open_consumer_testbed(
    campaign: Campaign, study: CompareConsumer, case: str, settings: Settings
) -> Iterator[ConsumerTestbed]:
    """Open the cluster, take its lease, and fill the topic.

    Raises:
        ClusterError: If the cluster cannot be reached, a broker does not start, or the topic cannot be filled.
        LeaseHeldError: If another load runs on the cluster, or on this machine if the brokers are the study's own.
    """
    topic = topic_name(campaign.keys, case)
    with open_cluster(study, case, campaign.store, settings) as system:
        keep_fingerprint(campaign, case, fingerprint_of(system.description, study, topic))
        cluster, workload = system.cluster, study.workload
        topics = topic, f"{topic}.live"
        with deleted_at_the_end(system, topics):
            configs = topic_configs(workload, round(max(workload.bytes, study.live_bytes * _FOLLOWED_ON_DISK)))
            for name in topics:
                cluster.delete_topic(name)  # left by a killed attempt; its records would expire sooner
                cluster.create_topic(name, workload.topic_partitions, workload.replication_factor, configs)
            _fill(
                cluster, topic, workload, ProducerPerformance(system.bootstrap_servers, system.client_config, settings)
            )
            load_tool = ConsumerLoad(system.bootstrap_servers, system.client_config, settings)
            yield ConsumerTestbed(cluster, load_tool, system.lease, *topics, system.brokers)


def _fill(cluster: Cluster, topic: str, workload: ReadWorkload, tool: ProducerPerformance) -> None:
    """Send the records to read.

    Raises:
        ClusterError: If the topic does not hold all of them afterwards.
    """
    log.info("filling %s with %d records of %d B", topic, workload.records, workload.record_size_bytes)
    tool.run(
        LoadRequest(
            topic=topic,
            records=workload.records,
            record_size_bytes=workload.record_size_bytes,
            properties=workload.producer_properties(),
            timeout_s=max(_FILL_TIMEOUT_S, workload.bytes / _SLOWEST_FILL_BYTES_S),
            timeout_key="",
        )
    )
    grown = cluster.wait_for_end_offset_growth(topic, 0, workload.records, deadline_s=15.0)
    if grown != workload.records:
        raise ClusterError(f"topic {topic}: {grown} of {workload.records} records arrived")
