"""Keep a cluster per topology, and run the services on the requested one."""

from __future__ import annotations

import logging
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager

from kafka_pareto.analysis.wording import counted
from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.brokers.processes import Opened
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.drivers.common.cluster_access import LEASE_WAIT_S, machine_lease
from kafka_pareto.drivers.common.systems import fingerprint_of_own
from kafka_pareto.drivers.services.chain import SCALED, Chain
from kafka_pareto.drivers.services.cpu_limits import cpu_controller, limited_cores
from kafka_pareto.drivers.services.produce_times import SERVICES_METRICS
from kafka_pareto.drivers.services.programs.hospital import Asked
from kafka_pareto.drivers.services.programs.messages import PLACED_ONLY, TOPICS
from kafka_pareto.drivers.services.studies import TOPOLOGY, CompareServices, Cpus
from kafka_pareto.drivers.services.topology import Topology
from kafka_pareto.errors import ClusterError, LoadStartError, MissingArtifactError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.measurement.fingerprint import keep_fingerprint
from kafka_pareto.settings import Settings
from kafka_pareto.storage.lease import ClusterLease
from kafka_pareto.storage.record import Record
from kafka_pareto.study.factors import Configuration

log = logging.getLogger(__name__)

_FIRST_GUESS_S = 1000.0


class TopologyCapacity(Record):
    """A topology's highest sustainable rate of orders; shares are computed from it."""

    topology: str
    capacity_orders_s: float


class TopologyCluster(Opened):
    """A context in which the brokers of a topology run; services on them come and go.

    Attributes:
        is_warm: True once the study's warm-up orders are completed.
        is_ending: True once the cluster is about to be discarded with all its topics.

    Raises:
        ClusterError: On entering, if a broker does not start.
    """

    def __init__(self, name: str, topology: Topology, heap_mib: int, settings: Settings) -> None:
        self.name, self.topology = name, topology
        self.is_warm = False
        self.is_ending = False
        self._heap_mib = heap_mib
        self._settings = settings

    def _open(self, opened: ExitStack) -> None:
        log.info("starting topology %s: %s", self.name, counted(self.topology.brokers, "broker"))
        replicas, in_sync = self.topology.replication_factor, self.topology.min_insync_replicas
        # Kafka's internal topics get as many replicas as the topics.
        properties: dict[str, PropertyValue] = {
            "group.initial.rebalance.delay.ms": 0,
            "min.insync.replicas": in_sync,
            "offsets.topic.replication.factor": replicas,
            "transaction.state.log.replication.factor": replicas,
            "transaction.state.log.min.isr": in_sync,
        }
        self.brokers = opened.enter_context(
            Brokers(
                self.topology.brokers,
                self._settings,
                properties=properties,
                heap_mib=self._heap_mib,
                jmx_configuration=SERVICES_METRICS,
            )
        )
        self.admin = opened.enter_context(Cluster(self.brokers.bootstrap_servers, None, self._settings))

    @property
    def is_whole(self) -> bool:
        """Return whether all of its brokers run."""
        return len(self.brokers.pids) == self.topology.brokers


class OpenTopology(Opened):
    """A context in which warm services run on a topology's brokers, with empty topics.

    Raises:
        ClusterError: On entering, if a topic cannot be created.
        LoadStartError: On entering, if a service does not start, or the first orders are not completed.
    """

    def __init__(self, study: CompareServices, configuration: Configuration, on: TopologyCluster) -> None:
        self.name, self.topology = on.name, on.topology
        self.brokers, self.cluster = on.brokers, on.admin
        self.group = study.group_in_block(configuration)
        self._on = on
        self._protocol = study.protocol
        self.chain = Chain(
            on.brokers.bootstrap_servers,
            on.topology,
            study.producer_properties(configuration),
            study.alert_rules,
            str(study.effective(configuration)["delivery"]),
            int(study.effective(configuration)["instances"]),
        )
        self._cpus = study.cpus

    def _open(self, opened: ExitStack) -> None:
        for topic in TOPICS:
            self._create(topic)
            opened.callback(self._delete, topic)
        opened.enter_context(self.chain)
        self._warm_up()

    @property
    def is_whole(self) -> bool:
        """Return whether all of its processes run."""
        return self._on.is_whole and self.chain.is_whole

    def limit_cpu(self) -> None:
        """Limit brokers and services to the study's cores, until this context ends.

        Raises:
            BadInputError: If CPU time cannot be limited here.
        """
        limited = dict.fromkeys(self.brokers.pids.values(), self._cpus.broker)
        # The other services only watch; hospital and client are the load.
        scaled = {pid for name, pid in self.chain.pids.items() if name.partition("-")[0] in SCALED}
        limited |= dict.fromkeys(scaled, self._cpus.service)
        for pid, cores in limited.items():
            if cores:
                self._opened.enter_context(limited_cores(cores, [pid]))

    def script_orders_s(self) -> float:
        """Measure the hospital's rate with no service reading, on topics with one replica, in orders per second.

        Raises:
            ClusterError: If their topic cannot be created.
            LoadToolError: If the hospital fails.
        """
        self.cluster.create_topic(PLACED_ONLY, self.topology.partitions, 1, {"min.insync.replicas": "1"})
        try:
            return self.chain.script_orders_s()
        finally:
            self.cluster.delete_topic(PLACED_ONLY)

    def _warm_up(self) -> None:
        """Run uncounted orders: many on new brokers, else a few."""
        until = time.monotonic() + self._protocol.warmup_s
        self._send_warm_up_orders()
        while not self._on.is_warm and time.monotonic() < until:
            self._send_warm_up_orders()
        self._on.is_warm = True

    def _send_warm_up_orders(self) -> None:
        orders, timeout_s = self._protocol.warmup_orders, self._protocol.timeout_s
        asked = Asked(f"warmup{secrets.token_hex(4)}", orders, timeout_s=timeout_s)
        self.chain.ask(asked)
        self.chain.answer(asked)
        seen = self.chain.seen(asked.run, orders, timeout_s)
        if seen["complete"] != orders:
            raise LoadStartError(
                f"{seen['complete']} of the first {orders} orders were completed within {timeout_s:g} s; lower "
                "protocol.warmup_orders, or raise protocol.timeout_s"
            )

    def _create(self, topic: str) -> None:
        partitions, replicas = self.topology.partitions, self.topology.replication_factor
        configs = {
            "min.insync.replicas": str(self.topology.min_insync_replicas),
            "message.timestamp.type": "LogAppendTime",  # hops are measured between the brokers' append times
        }
        if self.cluster.create_topic(topic, partitions, replicas, configs) != "created":
            raise ClusterError(f"topology {self.name}: topic {topic} still exists and holds earlier orders")

    def _delete(self, topic: str) -> None:
        if not self._on.is_ending and self._on.is_whole:
            self.cluster.delete_topic(topic)


class ServicesTestbed:
    """Services running on one topology at a time. Brokers run until the end, because new ones are slow for minutes.

    Attributes:
        lease: The machine's, since its cores are measured.
        guesses_orders_s: The first rate of a capacity search, by topology name: the capacity found last.
        script_orders_s: The hospital's rate without services; None until a topology has run.
    """

    def __init__(self, campaign: Campaign, study: CompareServices, settings: Settings, lease: ClusterLease) -> None:
        self.lease = lease
        self.guesses_orders_s: defaultdict[str, float] = defaultdict(lambda: _FIRST_GUESS_S)
        self.script_orders_s: float | None = None
        self._campaign = campaign
        self._study = study
        self._settings = settings
        self._clusters: dict[str, TopologyCluster] = {}
        self._opened: OpenTopology | None = None

    def topology_for(self, configuration: Configuration) -> OpenTopology:
        """Return a level's running services; first end others, or those with an exited process.

        Raises:
            ClusterError: As `TopologyCluster` and `OpenTopology`.
            LoadStartError: Likewise.
            LoadToolError: If the hospital cannot place orders.
        """
        opened = self._opened
        if opened is None or not opened.is_whole or opened.group != self._study.group_in_block(configuration):
            self.end_services()
            on = self._cluster_of(configuration)
            try:
                opened = self._opened = OpenTopology(self._study, configuration, on).__enter__()
                if self.script_orders_s is None:
                    self.script_orders_s = opened.script_orders_s()
                    log.info("the ordering script places %.0f orders/s without services", self.script_orders_s)
                opened.limit_cpu()  # after the warm-up and the script's rate, which have no limit
            except BaseException:
                self.end_services()
                self._end_cluster(on.name)  # its error must not affect the next attempt
                raise
        return opened

    def rate_of(self, configuration: Configuration) -> float:
        """Return the rate of a level that has one, in orders per second.

        Raises:
            MissingArtifactError: If it is a share of a capacity that `ensure_capacity` has not measured.
        """
        load = self._study.load_of(configuration)
        if load.capacity_fraction is None:
            return load.rate_s or 0.0
        key = self._campaign.keys.sizing(self._study.capacity_topology(configuration))
        return load.capacity_fraction * self._campaign.read_record(key, TopologyCapacity).capacity_orders_s

    def ensure_capacity(self, configuration: Configuration, search: Callable[[OpenTopology], float]) -> None:
        """Search the capacity a level's rate refers to, once per campaign and topology.

        Raises:
            ClusterError: As `topology_for`, and its other errors likewise.
        """
        if self._study.load_of(configuration).capacity_fraction is None:
            return
        name = self._study.capacity_topology(configuration)
        key = self._campaign.keys.sizing(name)
        try:
            self._campaign.read_record(key, TopologyCapacity)
        except MissingArtifactError:
            # With the reference's settings, so the result does not depend on the first level.
            found = search(self.topology_for({TOPOLOGY: name}))
            self.end_services()  # its logs are full
            log.info("topology %s sustains %.0f orders/s", name, found)
            self._campaign.write_record(key, TopologyCapacity(topology=name, capacity_orders_s=found))

    def end_services(self) -> None:
        """End the running services; their brokers stay, unless they do not delete topics."""
        opened, self._opened = self._opened, None
        if opened is None:
            return
        try:
            opened.__exit__(None, None, None)
        except ClusterError as error:
            log.warning("topology %s is restarted: %s", opened.name, error)
            self._end_cluster(opened.name)

    def end_topology(self) -> None:
        """End the running services and their brokers."""
        if self._opened is not None:
            name = self._opened.name
            self._clusters[name].is_ending = True
            self.end_services()
            self._end_cluster(name)

    def close(self) -> None:
        """End all services and brokers."""
        with ExitStack() as ending:
            for name, cluster in self._clusters.items():
                cluster.is_ending = True
                ending.callback(self._end_cluster, name)
            self.end_services()

    def _cluster_of(self, configuration: Configuration) -> TopologyCluster:
        name, topology = self._study.topology_of(configuration)
        known = self._clusters.get(name)
        if known is not None and not known.is_whole:
            self._end_cluster(name)
        if name not in self._clusters:
            cluster = TopologyCluster(name, topology, self._study.heap_mib, self._settings)
            self._clusters[name] = cluster.__enter__()
        return self._clusters[name]

    def _end_cluster(self, name: str) -> None:
        if cluster := self._clusters.pop(name, None):
            cluster.__exit__(None, None, None)


@contextmanager
def open_services_testbed(
    campaign: Campaign, study: CompareServices, case: str, settings: Settings
) -> Iterator[ServicesTestbed]:
    """Take the machine's lease and start the topology of the part's reference.

    Raises:
        BadInputError: If the campaign was begun on another system, or CPU time cannot be limited as the study asks.
        ClusterError: If a broker does not start.
        LeaseHeldError: If another load runs on this machine.
    """
    with ClusterLease(campaign.store, machine_lease(), LEASE_WAIT_S) as lease, ExitStack() as opened:
        if study.cpus != Cpus():
            cpu_controller()  # an error here comes before any broker starts
        testbed = opened.enter_context(closing(ServicesTestbed(campaign, study, settings, lease)))
        cluster = testbed.topology_for(study.baseline_configuration(case)).cluster
        keep_fingerprint(campaign, case, fingerprint_of_own(cluster, study.heap_mib))
        yield testbed
