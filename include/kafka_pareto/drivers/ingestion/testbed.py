"""The testbed of ingestions: the cluster, its lease, the tool, and the files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from kafka_pareto.bottleneck.network import Address
from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.drivers.common.cluster_access import deleted_at_the_end, open_cluster
from kafka_pareto.drivers.common.jvm_process import java_version
from kafka_pareto.drivers.common.producer_performance import ProducerPerformance
from kafka_pareto.drivers.common.systems import fingerprint_of
from kafka_pareto.drivers.ingestion.load import IngestionLoad
from kafka_pareto.drivers.ingestion.rows_files import RowsFiles, most_rows, row_bytes
from kafka_pareto.drivers.ingestion.studies import CompareIngestion
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.measurement.fingerprint import keep_fingerprint
from kafka_pareto.measurement.own_topics import topic_configs, topic_name
from kafka_pareto.settings import Settings
from kafka_pareto.storage.lease import Lease

_RECORD_BYTES_PER_ROW_BYTE = 4  # a short row's record consists largely of its header


@dataclass(frozen=True)
class IngestionTestbed:
    """The external resources for measuring ingestions.

    Attributes:
        topic: Recreated for each repetition.
        brokers: The study's own, if any.
    """

    cluster: Cluster
    tool: IngestionLoad
    kafkas_tool: ProducerPerformance
    files: RowsFiles
    lease: Lease
    topic: str
    configs: dict[str, str]
    replication_factor: int
    addresses: tuple[Address, ...]
    brokers: Brokers | None = None

    @property
    def warmup_topic(self) -> str:
        """Return the topic of the warm-up rows."""
        return f"{self.topic}.warmup"

    @property
    def topics(self) -> list[str]:
        """List all topics of a repetition."""
        return [each for topic in (self.topic, self.warmup_topic) for each in (topic, f"{topic}.malformed")]

    def new_topic(self, partitions: int) -> None:
        """Recreate the topic and the warm-up's, empty, and create missing dead-letter topics.

        Raises:
            ClusterError: If the cluster does not answer, or does not create it.
        """
        for topic in (self.topic, self.warmup_topic):
            self.cluster.delete_topic(topic)
            self.cluster.create_topic(topic, partitions, self.replication_factor, self.configs)
            self.cluster.create_topic(f"{topic}.malformed", 1, self.replication_factor, self.configs)


@contextmanager
def open_ingestion_testbed(
    campaign: Campaign, study: CompareIngestion, case: str, settings: Settings
) -> Iterator[IngestionTestbed]:
    """Open the cluster, take its lease, make the file and the topics, and store the fingerprint.

    Raises:
        BadInputError: If the campaign was begun with another file, or on another cluster.
        LoadToolError: If the file cannot be made or read.
        ClusterError: If the cluster cannot be reached, or a broker does not start.
        LeaseHeldError: If another load runs on the cluster, or on this machine if the brokers are the study's own.
    """
    topic = topic_name(campaign.keys, case)
    with (
        open_cluster(study, case, campaign.store, settings) as system,
        TemporaryDirectory(prefix="kafka-pareto-rows-") as folder,
    ):
        tool = IngestionLoad(system.bootstrap_servers, system.client_config, settings)
        files = RowsFiles(study, tool, Path(folder))
        held = files.rows_of(files.file_of(study.baseline_configuration(case)))
        found = fingerprint_of(system.description, study, topic)
        java = java_version(settings.java)
        found.system.update({"java_version": java, "file_rows": held.rows, "file_hash": held.hash})
        keep_fingerprint(campaign, case, found)
        needed_bytes = round(most_rows(study, case) * row_bytes(study) * _RECORD_BYTES_PER_ROW_BYTE)
        testbed = IngestionTestbed(
            cluster=system.cluster,
            tool=tool,
            kafkas_tool=ProducerPerformance(system.bootstrap_servers, system.client_config, settings),
            files=files,
            lease=system.lease,
            topic=topic,
            configs=topic_configs(study.workload, needed_bytes),
            replication_factor=study.workload.replication_factor,
            addresses=tuple((broker.host, broker.port) for broker in system.description.brokers),
            brokers=system.brokers,
        )
        with deleted_at_the_end(system, testbed.topics):
            testbed.new_topic(study.partitions(study.baseline_configuration(case)))
            yield testbed
