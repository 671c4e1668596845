"""Define the study that compares topologies of a cluster under a chain of services."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from kafka_pareto.analysis.wording import counted
from kafka_pareto.drivers.services.declaration import DRIVER
from kafka_pareto.drivers.services.programs.alerts import Watched
from kafka_pareto.drivers.services.topology import Topology
from kafka_pareto.study.cases import CASE
from kafka_pareto.study.compare import Compare
from kafka_pareto.study.declaration import Driver
from kafka_pareto.study.factors import Configuration, FactorValue
from kafka_pareto.study.faults import BROKER_FAULTS, NO_FAULT, NOTIFICATION_KILLED, PARTITIONS_ADDED, FaultTimes
from kafka_pareto.study.protocol import Protocol
from kafka_pareto.study.section import Count, Fraction, Section
from kafka_pareto.study.sections import MOST_BROKERS, OwnBrokers
from kafka_pareto.study.setting import Setting

TOPOLOGY = "topology"
SERVICE_FAULTS = ("manufacturer_killed", NOTIFICATION_KILLED)
_MOST_ORDERS = 10_000_000
_MOST_PACED_S = 3600
_MOST_INSTANCES = 16
_LOAD = re.compile(r"burst|capacity|([1-9][0-9]*)/s|([1-9][0-9]?|100)%( own)?")
_PRODUCER_SETTINGS = (
    Setting("acks", "all", "client", choices=("0", "1", "all")),
    Setting("linger.ms", 5, "client", least=0, most=900_000),
    Setting("batch.size", 16384, "client", least=1, most=2_147_483_647),
    Setting("compression.type", "none", "client", choices=("none", "gzip", "snappy", "lz4", "zstd")),
)
_LOAD_SETTINGS = (
    Setting("load", "burst", "load"),
    Setting("orders", 1000, "load", least=1, most=_MOST_ORDERS),
    Setting("paced_s", 20, "load", least=1, most=_MOST_PACED_S),
    Setting("hospitals", 0, "load", least=0, most=_MOST_ORDERS),
    Setting("delivery", "at_least_once", "load", choices=("at_least_once", "exactly_once")),
    Setting("instances", 1, "load", least=1, most=_MOST_INSTANCES),
    Setting("fault", NO_FAULT, "load", choices=(NO_FAULT, *BROKER_FAULTS, *SERVICE_FAULTS, PARTITIONS_ADDED)),
)


TopologyName = Annotated[str, Field(pattern=f"^{CASE}$")]


@dataclass(frozen=True)
class Load:
    """The rate at which orders are placed.

    Attributes:
        kind: As fast as possible, at a rate, or at the highest sustained rate, which is searched.
        rate_s: Orders per second; None for a share of a capacity.
        capacity_fraction: That share.
        of_own: True for the capacity of the level's own topology, False for the reference's.
    """

    kind: Literal["burst", "paced", "capacity"]
    rate_s: float | None = None
    capacity_fraction: float | None = None
    of_own: bool = False


def load_of(text: str) -> Load:
    """Read `burst`, `capacity`, `500/s`, `60%` (of the reference topology's capacity) or `60% own`.

    Raises:
        ValueError: If it is none of these.
    """
    found = _LOAD.fullmatch(text)
    if found is None:
        raise ValueError(
            f"load: {text!r}: must be burst, capacity, a rate such as 500/s, or a capacity share such as 60% or 60% own"
        )
    rate, percent, own = found.groups()
    if rate:
        return Load("paced", rate_s=float(rate))
    if percent:
        return Load("paced", capacity_fraction=int(percent) / 100, of_own=bool(own))
    return Load("capacity") if text == "capacity" else Load("burst")


class Capacity(Section):
    """Decides which rates of orders are sustainable; `seconds` is the duration of each attempt.

    The p95 latency must be at most `latency_p95_ms`. Waiting orders must not grow by more than `open_growth_fraction`
    of the rate, nor reach two seconds' worth of it (or four times `latency_p95_ms`, if longer). Every order must be
    completed. The first `warmup_s` do not count.
    """

    latency_p95_ms: Annotated[float, Field(gt=0)] = 500.0
    open_growth_fraction: Fraction = 0.01
    warmup_s: Annotated[float, Field(ge=0)] = 5.0
    seconds: Annotated[float, Field(gt=0)] = 10.0
    precision: Annotated[float, Field(gt=1, le=2)] = 1.1

    @property
    def most_open_s(self) -> float:
        """Return the limit of waiting orders beyond which a rate is not sustained, in seconds of the rate."""
        return max(2.0, 4.0 * self.latency_p95_ms / 1e3)


class ServicesProtocol(Protocol):
    """Adds the warm-up, and the longest wait for the last confirmation.

    New services first process `warmup_orders`, repeatedly for `warmup_s` if their brokers are new too. In a
    rate-limited load, the first `paced_warmup_s` do not count.
    """

    warmup_orders: Count = 500
    warmup_s: Annotated[float, Field(ge=0)] = 0.0
    paced_warmup_s: Annotated[float, Field(ge=0)] = 3.0
    timeout_s: Annotated[float, Field(gt=0)] = 120.0
    capacity: Capacity = Capacity()
    fault: FaultTimes = FaultTimes()

    _not_of_a_repetition: ClassVar[frozenset[str]] = Protocol._not_of_a_repetition | {"timeout_s"}


_LIMITED = {"broker": "broker", "service": "instance of manufacturer or transport"}


class Cpus(Section):
    """Limits the CPU time of each broker, and of each instance of manufacturer and transport, in cores.

    A broker added is then CPU added, as on a machine of its own. Without a value, CPU time is not limited. The limits
    hold once brokers and services are warm. They need Linux control groups that this user may write, usually root's.
    """

    broker: Annotated[float, Field(ge=0.05)] | None = None
    service: Annotated[float, Field(ge=0.05)] | None = None


class CompareServices(Compare):
    """Compares topologies, each with its own brokers, under orders that five services process.

    For its levels, see `docs/services.md`.
    """

    declaration: ClassVar[Driver] = DRIVER

    kind: Literal["compare"] = "compare"
    driver: Literal["services"] = "services"
    topologies: dict[TopologyName, Topology]
    heap_mib: Annotated[int, Field(ge=128)] = 384
    cpus: Cpus = Cpus()
    alert_rules: dict[Watched, float] = Field(default_factory=dict)
    protocol: ServicesProtocol = ServicesProtocol(repetitions=5, cool_down_s=1.0)

    @field_validator("topologies")
    @classmethod
    def _are_named(cls, topologies: dict[str, Topology]) -> dict[str, Topology]:
        if not topologies:
            raise ValueError("must name at least one topology")
        return topologies

    def settings(self) -> Mapping[str, Setting]:
        """Map the settings of topology, load and the services' producers by name."""
        names = tuple(self.topologies)
        topology = Setting(TOPOLOGY, names[0] if names else "", "load", choices=names)
        return {each.name: each for each in (topology, *_LOAD_SETTINGS, *_PRODUCER_SETTINGS)}

    @property
    def own_brokers(self) -> OwnBrokers:
        """Return the number of brokers running at the same time: those of all topologies of a part."""
        return OwnBrokers(brokers=max(map(self._brokers_at_once, self.cases)), heap_mib=self.heap_mib)

    @property
    def compared(self) -> tuple[str, ...]:
        """List what the published study compares."""
        return ("latency_mean_ms", "request_ms", "jitter_ms", "orders_s")

    def topologies_of(self, case: str) -> set[str]:
        """Return the topologies whose brokers run while a part is measured."""
        levels = self.levels_of(case)
        shared = {self.capacity_topology(level) for level in levels if self.load_of(level).capacity_fraction}
        return shared | {self.topology_of(level)[0] for level in levels}

    def _brokers_at_once(self, case: str) -> int:
        return sum(self.topologies[name].brokers for name in self.topologies_of(case))

    def topology_of(self, configuration: Configuration) -> tuple[str, Topology]:
        """Return the name of a level's topology, and the topology."""
        name = str(self.effective(configuration)[TOPOLOGY])
        return name, self.topologies[name]

    def load_of(self, configuration: Configuration) -> Load:
        """Return how a level's orders are placed."""
        return load_of(str(self.effective(configuration)["load"]))

    def capacity_topology(self, configuration: Configuration) -> str:
        """Return the topology whose capacity a level's rate refers to: its own or the reference's."""
        load = self.load_of(configuration)
        return self.topology_of(configuration if load.of_own else {})[0]

    def group_in_block(self, configuration: Configuration) -> str:
        """Identify the processes started for a level, by its topology and the settings of its services."""
        found = self.effective(configuration)
        of_services = {name: found[name] for name in ("delivery", "instances")}
        settings = {**self.producer_properties(configuration), **of_services}
        return json.dumps([self.topology_of(configuration)[0], settings])

    def producer_properties(self, configuration: Configuration) -> dict[str, FactorValue]:
        """Return the properties of the services' producers."""
        found = self.effective(configuration)
        properties = {each.name: found[each.name] for each in _PRODUCER_SETTINGS}
        return properties | {"enable.idempotence": "true" if found["acks"] == "all" else "false"}

    def described_protocol(self) -> dict[str, str]:
        """Describe a repetition, as names and texts for people."""
        capacity = self.protocol.capacity
        on_new_brokers = f", for {self.protocol.warmup_s:g} s on new brokers" if self.protocol.warmup_s else ""
        limited = ", ".join(
            f"{cores:g} cores per {_LIMITED[of]}" for of, cores in self.cpus.model_dump(exclude_none=True).items()
        )
        return super().described_protocol() | {
            "topologies": "; ".join(
                f"{name}: {counted(each.brokers, 'broker')}, {counted(each.replication_factor, 'replica')}, "
                f"{counted(each.partitions, 'partition')}, min.insync.replicas {each.min_insync_replicas}, "
                f"{each.partitioning.replace('_', ' ')}"
                for name, each in self.topologies.items()
            ),
            "warm-up": f"{counted(self.protocol.warmup_orders, 'order')} on new services{on_new_brokers}; at a rate, "
            f"the first {self.protocol.paced_warmup_s:g} s do not count",
            "sustained rate": f"p95 latency at most {capacity.latency_p95_ms:g} ms, backlog growth at most "
            f"{capacity.open_growth_fraction * 100:.0f} % of the rate, backlog below {capacity.most_open_s:g} s of the "
            f"rate, no order lost; measured for {capacity.seconds:g} s after "
            f"{capacity.warmup_s:g} s, to within {(capacity.precision - 1) * 100:.0f} %",
            **({"CPU time": f"at most {limited}"} if limited else {}),
        }

    def conditions(self) -> dict[str, Any]:
        """Return the reference, the topologies and the protocol of a single repetition, by their keys."""
        parts: dict[str, Mapping[str, Any]] = {
            "reference": self.stated({}),
            "topologies": {name: each.model_dump() for name, each in self.topologies.items()},
            "protocol": self.protocol.of_a_repetition(),
            "testbed": {"heap_mib": self.heap_mib},
            "cpus": self.cpus.model_dump(exclude_none=True),
        }
        return {f"{part}.{key}": value for part, values in parts.items() for key, value in values.items()}

    @model_validator(mode="after")
    def _on_own_brokers_that_fit_one_machine(self) -> Self:
        if self.cluster is not None:
            raise ValueError("cluster: must not be given; the study starts its own cluster for each topology")
        for case in self.cases:
            if (brokers := self._brokers_at_once(case)) > MOST_BROKERS:
                names = ", ".join(sorted(self.topologies_of(case)))
                raise ValueError(
                    f"part {case}: topologies {names} have {brokers} brokers running at the same time: must be at most "
                    f"{MOST_BROKERS}; spread them over several parts"
                )
        return self

    def conflict_in(self, level: Configuration) -> str:
        """Return a level's conflict of settings; empty if it has none."""
        found = self.effective(level)
        try:
            load = load_of(str(found["load"]))
        except ValueError as error:
            return str(error)
        if found["delivery"] == "exactly_once" and found["acks"] != "all":
            return f"acks {found['acks']}: must be all with delivery exactly_once"
        name, topology = self.topology_of(level)
        if int(found["instances"]) > topology.partitions:
            return (
                f"instances {found['instances']}: must be at most {topology.partitions}, the partitions of topology "
                f"{name}, because each instance needs one"
            )
        return "" if found["fault"] == NO_FAULT else self._fault_conflict(level, load)

    def _fault_conflict(self, level: Configuration, load: Load) -> str:
        """Return why a level's fault cannot be measured; empty if it can."""
        found = self.effective(level)
        name, topology = self.topology_of(level)
        if self.cpus != Cpus():
            return f"fault {found['fault']}: not together with cpus, because what restarts would not be limited"
        times = self.protocol.fault
        if load.kind != "paced":
            return f"fault {found['fault']}: needs a load at a rate; the load {found['load']} is not one"
        if times.at_s <= self.protocol.paced_warmup_s:
            return (
                f"fault {found['fault']}: must begin (protocol.fault.at_s {times.at_s:g}) after the uncounted first "
                f"{self.protocol.paced_warmup_s:g} s (protocol.paced_warmup_s)"
            )
        if int(found["paced_s"]) <= times.at_s + times.for_s:
            return (
                f"paced_s {found['paced_s']}: must be above {times.at_s + times.for_s:g} s, the end of the fault "
                "(protocol.fault), because the recovery is measured, too"
            )
        if found["fault"] == "broker_stopped" and topology.replication_factor < 2:
            return f"fault broker_stopped: topology {name} has no followers (replication_factor 1)"
        if found["fault"] == PARTITIONS_ADDED and topology.partitioning != "key":
            return (
                f"fault partitions_added: topology {name} has partitioning round_robin, which never uses "
                "added partitions; must be key"
            )
        return ""


STUDIES = {"compare": CompareServices}
