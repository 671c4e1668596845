"""The testbed of services: a cluster of the topology that is asked for, and the chain of services on it."""

from __future__ import annotations

import logging
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Self

from kafka_pareto.brokers.broker_properties import BrokerValue
from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Fingerprint
from kafka_pareto.drivers.cluster_access import LEASE_WAIT_S, machine_lease
from kafka_pareto.drivers.services.chain import Chain
from kafka_pareto.drivers.services.produce_times import SERVICES_METRICS
from kafka_pareto.errors import ClusterError, LoadStartError, MissingArtifactError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.measurement.fingerprint import client_machine, keep_fingerprint
from kafka_pareto.services.hospital import Asked
from kafka_pareto.services.messages import PLACED_ONLY, TOPICS
from kafka_pareto.settings import Settings
from kafka_pareto.storage.lease import ClusterLease
from kafka_pareto.storage.record import Record
from kafka_pareto.study.compare_services import TOPOLOGY, CompareServices
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.topology import Topology

log = logging.getLogger(__name__)

_WARM_UP_S = 60.0
_FIRST_GUESS_S = 1000.0


class TopologyCapacity(Record):
    """Holds the highest rate of orders that a topology holds, with which shares of it are placed."""

    topology: str
    capacity_orders_s: float


class OpenTopology:
    """Opens a context in which one topology's brokers run, with its topics, and services on them that are warm.

    Raises:
        ClusterError: On entering, if a broker does not start.
        LoadStartError: On entering, if a service does not, or the first orders are not handed on.
    """

    def __init__(self, study: CompareServices, configuration: Configuration, settings: Settings) -> None:
        self.name, self.topology = study.topology_of(configuration)
        self.settings = study.service_settings(configuration)
        self._producer = study.producer_properties(configuration)
        self._study = study
        self._machine = settings

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            log.info("starting topology %s: %d brokers", self.name, self.topology.brokers)
            self.brokers = opened.enter_context(
                Brokers(
                    self.topology.brokers,
                    self._machine,
                    properties=_broker_properties(self.topology),
                    heap_mib=self._study.heap_mib,
                    jmx_configuration=SERVICES_METRICS,
                )
            )
            servers = self.brokers.bootstrap_servers
            self.cluster = opened.enter_context(Cluster(servers, None, self._machine))
            for topic in TOPICS:
                self.cluster.create_topic(
                    topic, self.topology.partitions, self.topology.replication_factor, _topic_configs(self.topology)
                )
            delivery = str(self.settings["delivery"])
            chain = Chain(servers, self.topology, self._producer, self._study.alert_rules, delivery)
            self.chain = opened.enter_context(chain)
            self._warm_up(self._study.protocol.warmup_orders)
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def serves(self, other: OpenTopology) -> bool:
        """Says whether it is what the other one asks for, and all of its processes run."""
        runs = len(self.chain.pids) == self.chain.size and len(self.brokers.pids) == self.topology.brokers
        return runs and (self.name, self.settings) == (other.name, other.settings)

    def script_orders_s(self) -> float:
        """Returns at what pace the hospital places orders that no service reads, with one replica of each.

        Raises:
            ClusterError: If the topic for them cannot be made.
            LoadToolError: If the hospital does not end well.
        """
        self.cluster.create_topic(PLACED_ONLY, self.topology.partitions, 1, {"min.insync.replicas": "1"})
        try:
            return self.chain.script_orders_s()
        finally:
            self.cluster.delete_topic(PLACED_ONLY)

    def _warm_up(self, orders: int) -> None:
        asked = Asked(f"warmup{secrets.token_hex(4)}", orders, timeout_s=_WARM_UP_S)
        self.chain.ask(asked)
        self.chain.answer(asked)
        seen = self.chain.seen(asked.run, orders, _WARM_UP_S)
        if seen["complete"] != orders:
            raise LoadStartError(f"{seen['complete']} of the first {orders} orders were handed on")


class ServicesTestbed:
    """Keeps one topology running at a time.

    Attributes:
        lease: Of this machine: its cores are what is measured.
        guesses_orders_s: Where the search of a topology's capacity begins: at the one found last, by its name.
        script_orders_s: What the hospital places with no service behind it; None until a topology has run.
    """

    def __init__(self, campaign: Campaign, study: CompareServices, settings: Settings, lease: ClusterLease) -> None:
        self.lease = lease
        self.guesses_orders_s: defaultdict[str, float] = defaultdict(lambda: _FIRST_GUESS_S)
        self.script_orders_s: float | None = None
        self._campaign = campaign
        self._study = study
        self._settings = settings
        self._opened: OpenTopology | None = None

    def topology_for(self, configuration: Configuration) -> OpenTopology:
        """Returns the running topology of a level; another one, or one of which a process has ended, is ended first.

        Raises:
            ClusterError: As `OpenTopology` does.
            LoadStartError: The same.
            LoadToolError: If the hospital cannot place orders.
        """
        asked = OpenTopology(self._study, configuration, self._settings)
        if self._opened is None or not self._opened.serves(asked):
            self.close()
            self._opened = asked.__enter__()
            if self.script_orders_s is None:
                self.script_orders_s = self._opened.script_orders_s()
                log.info("the script places %.0f orders/s with no service behind it", self.script_orders_s)
        return self._opened

    def rate_of(self, configuration: Configuration) -> float:
        """Returns the rate of a level that has one, in orders a second.

        Raises:
            MissingArtifactError: If it is a share of a capacity that `find_what_is_shared` was not asked for.
        """
        load = self._study.load_of(configuration)
        if load.capacity_fraction is None:
            return load.rate_s or 0.0
        key = self._campaign.keys.sizing(self._study.capacity_topology(configuration))
        return load.capacity_fraction * self._campaign.read_record(key, TopologyCapacity).capacity_orders_s

    def find_what_is_shared(self, configuration: Configuration, search: Callable[[OpenTopology], float]) -> None:
        """Searches the capacity of which a level's rate is a share, once for each campaign and topology.

        Raises:
            ClusterError: As `topology_for` does, and the others.
        """
        if self._study.load_of(configuration).capacity_fraction is None:
            return
        name = self._study.capacity_topology(configuration)
        key = self._campaign.keys.sizing(name)
        try:
            self._campaign.read_record(key, TopologyCapacity)
        except MissingArtifactError:
            opened = self.topology_for({**configuration, TOPOLOGY: name})
            found = search(opened)
            self.close()  # its logs are full
            log.info("topology %s holds %.0f orders/s", name, found)
            self._campaign.write_record(key, TopologyCapacity(topology=name, capacity_orders_s=found))

    def close(self) -> None:
        """Ends the topology that runs."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.__exit__(None, None, None)


@contextmanager
def open_services_testbed(
    campaign: Campaign, study: CompareServices, case: str, settings: Settings
) -> Iterator[ServicesTestbed]:
    """Takes the machine's lease, and starts the topology of the part's reference.

    Raises:
        BadInputError: If the campaign was begun on another system.
        ClusterError: If a broker does not start.
        LeaseHeldError: If another load runs on this machine.
    """
    with ClusterLease(campaign.store, machine_lease(), LEASE_WAIT_S) as lease:
        testbed = ServicesTestbed(campaign, study, settings, lease)
        try:
            opened = testbed.topology_for(study.baseline_configuration(case))
            keep_fingerprint(campaign, case, _fingerprint(opened, study))
            yield testbed
        finally:
            testbed.close()


def _fingerprint(opened: OpenTopology, study: CompareServices) -> Fingerprint:
    version = opened.cluster.describe().kafka_version
    if version is None:
        raise ClusterError("the brokers do not say their version")
    return Fingerprint(
        system={"kafka_version": version, "cluster_id": "own brokers", "broker_heap_mib": study.heap_mib},
        **client_machine(),
        load_and_brokers_share_a_machine=True,
    )


def _broker_properties(topology: Topology) -> dict[str, BrokerValue]:
    """Returns the brokers' properties: what Kafka keeps for itself has as many replicas as the topics."""
    replicas = topology.replication_factor
    return {
        "group.initial.rebalance.delay.ms": 0,
        "min.insync.replicas": topology.min_insync_replicas,
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": topology.min_insync_replicas,
    }


def _topic_configs(topology: Topology) -> dict[str, str]:
    return {
        "min.insync.replicas": str(topology.min_insync_replicas),
        "message.timestamp.type": "LogAppendTime",  # hops are told by when the brokers got a record
    }
