"""Read the value of each check, or return a reason code. Read only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from kafka_pareto.doctor.cluster_facts import ClusterFacts
from kafka_pareto.doctor.guide import Check, Plain, Source
from kafka_pareto.doctor.host import Host, LocalBroker, Mount
from kafka_pareto.doctor.jvm_options import jvm_options
from kafka_pareto.doctor.records import Found
from kafka_pareto.kafka.user_settings import ClientFile

_LOOPBACK = "lo"
_GB = 10**9
_THIS_MACHINE = "this machine"
_NOT_IN_LIBRDKAFKA = ("max.block.ms", "max.poll.records")
"""The guide's client settings without an equivalent in librdkafka."""


@dataclass(frozen=True)
class Reading:
    """The values of one check.

    Attributes:
        found: The values.
        reason: Why values are missing, as a code of `doctor.words`.
        is_applicable: False if the check does not apply.
    """

    found: tuple[Found, ...] = ()
    reason: str = ""
    is_applicable: bool = True


@dataclass(frozen=True)
class Places:
    """All sources of values.

    Attributes:
        host: This machine.
        cluster: Values from the cluster; None without one: this machine is then treated as a broker's.
        here: The brokers whose processes are visible on this machine.
        clients: Settings files by client, `producer` or `consumer`, if given.
    """

    host: Host
    cluster: ClusterFacts | None
    here: Sequence[LocalBroker]
    clients: Mapping[str, ClientFile]

    @property
    def is_a_brokers_machine(self) -> bool:
        """Return whether this machine's values are a broker's."""
        return self.cluster is None or bool(self.here)

    @property
    def cores(self) -> int | None:
        """Return the number of cores; None if some brokers run elsewhere."""
        return None if self.brokers_elsewhere else psutil.cpu_count()

    @property
    def memory_gb_per_broker(self) -> float | None:
        """Return each broker's share of this machine's memory; None if some brokers run elsewhere."""
        return None if self.brokers_elsewhere else psutil.virtual_memory().total / _GB / max(1, len(self.here))

    @property
    def brokers_elsewhere(self) -> bool:
        """Return whether a broker runs elsewhere or is not visible."""
        return self.cluster is not None and len(self.here) < len(self.cluster.brokers)


def read(check: Check, places: Places) -> Reading:
    """Read the values of a check."""
    source = check.reads.source
    if source in _OF_MACHINE:
        return _OF_MACHINE[source](check, places) if places.is_a_brokers_machine else Reading(reason="other_machine")
    if source in _OF_CLUSTER:
        return _OF_CLUSTER[source](check, places.cluster) if places.cluster else Reading(reason="no_cluster")
    return _READERS[source](check, places)


def _machine(check: Check, places: Places) -> Reading:
    """Return each broker's share of this machine."""
    amounts = {
        "cores_per_broker": float(psutil.cpu_count() or 0),
        "memory_gb_per_broker": psutil.virtual_memory().total / _GB,
    }
    share = round(amounts[check.reads.name] / max(1, len(places.here)), 2)
    return Reading((Found(subject=_THIS_MACHINE, value=share),), _elsewhere(places))


def link_speed(places: Places) -> Reading:
    """Read the speed of the brokers' network interfaces, in Mbit/s."""
    if not places.is_a_brokers_machine:
        return Reading(reason="other_machine")
    if places.cluster is None:
        interfaces = places.host.of_devices([name for name in psutil.net_if_addrs() if name != _LOOPBACK])
    else:
        interfaces = [broker.interface for broker in places.here]
    if interfaces and all(name == _LOOPBACK for name in interfaces):
        return Reading(reason="loopback", is_applicable=False)
    speeds = {name: places.host.nic_speed_mbit_s(name) for name in dict.fromkeys(interfaces) if name != _LOOPBACK}
    found = tuple(Found(subject=name, value=speed) for name, speed in speeds.items() if speed is not None)
    is_whole = bool(found) and (places.cluster is None or len(found) == len(speeds))
    return Reading(found, _elsewhere(places) if is_whole else "unknown_speed")


def _mount(check: Check, places: Places) -> Reading:
    return _of_log_folders(places, lambda mount: getattr(mount, check.reads.name))


def file_systems(places: Places) -> frozenset[str]:
    """Return the file systems of the local log folders."""
    return frozenset(str(each.value) for each in _of_log_folders(places, lambda mount: mount.type).found)


def _disk(_: Check, places: Places) -> Reading:
    return _of_log_folders(places, lambda mount: " ".join(places.host.disks_of(mount)))


def _of_log_folders(places: Places, value_of: Callable[[Mount], str]) -> Reading:
    """Read a property of the mount of each local log folder; skip empty texts."""
    if places.cluster is None:
        return Reading(reason="no_cluster")
    if not places.here:
        return Reading(reason="other_machine")
    found, reason = [], _elsewhere(places)
    for broker in places.here:
        folders = places.cluster.log_folders(broker.id)
        reason = reason if folders else "not_told"
        for folder in folders:
            try:
                value = value_of(places.host.mount_of(folder, str(broker.process_id)))
            except (OSError, LookupError) as error:
                reason = "denied" if isinstance(error, OSError) else "no_mount"
                continue
            if value:
                found.append(Found(subject=f"broker {broker.id}", value=value))
            else:
                reason = "no_device"
    return Reading(tuple(dict.fromkeys(found)), reason)


def _kernel(check: Check, places: Places) -> Reading:
    look = places.host.sysctl if check.reads.source == "sysctl" else places.host.choice
    try:
        value = look(check.reads.name)
    except FileNotFoundError:
        return Reading(reason="no_such_file")
    except OSError:
        return Reading(reason="denied")
    return Reading((Found(subject=_THIS_MACHINE, value=_plain(value)),), _elsewhere(places))


def _limit(check: Check, places: Places) -> Reading:
    processes = {f"broker {broker.id}": str(broker.process_id) for broker in places.here} or {"this shell": "self"}
    found: list[Found] = []
    for subject, process in processes.items():
        try:
            limits = places.host.limit(check.reads.name, process)
        except (OSError, KeyError):
            return Reading(tuple(found), "denied")
        kinds = zip(("soft", "hard"), limits, strict=True)
        found += [Found(subject=f"{subject}, {kind}", value=_plain(value)) for kind, value in kinds]
    return Reading(tuple(found), _elsewhere(places))


def _jvm(check: Check, places: Places) -> Reading:
    if places.cluster is None:
        return Reading(reason="no_cluster")
    if not places.here:
        return Reading(reason="other_machine")
    found, reason = [], _elsewhere(places)
    for broker in places.here:
        try:
            process = psutil.Process(broker.process_id)
            given = jvm_options(process.cmdline(), Path(process.cwd()))
        except (psutil.Error, OSError, ValueError):
            reason = "denied"
            continue
        value = given.get(check.reads.name, check.reads.default)
        if value is None and check.when_unset == "not_readable":
            reason = "java_decides"
        else:
            found.append(Found(subject=f"broker {broker.id}", value=value))
    return Reading(tuple(found), reason)


def _broker(check: Check, cluster: ClusterFacts) -> Reading:
    if cluster.configs is None:
        return Reading(reason="not_allowed")
    name = check.reads.name
    values = {broker: configs[name] for broker, configs in cluster.configs.items() if name in configs}
    found = tuple(Found(subject=f"broker {n}", value=_plain(values[n])) for n in sorted(values))
    return Reading(found, "" if len(values) == len(cluster.configs) else "not_told")


def _topic(check: Check, cluster: ClusterFacts) -> Reading:
    if cluster.topic is None:
        return Reading(reason="not_allowed" if "topic" in cluster.denied else "no_topic")
    if check.reads.name not in cluster.topic:
        return Reading(reason="not_told")
    return Reading((Found(subject="topic", value=_plain(cluster.topic[check.reads.name])),))


def _group(_: Check, cluster: ClusterFacts) -> Reading:
    if cluster.members is None:
        return Reading(reason="not_allowed" if "group" in cluster.denied else "no_group")
    return Reading((Found(subject="group", value=cluster.members),))


def _client(check: Check, places: Places) -> Reading:
    given = places.clients.get(check.reads.source)
    if given is None:
        return Reading(reason=f"no_{check.reads.source}")
    name = check.reads.name
    if given.form == "librdkafka" and name in _NOT_IN_LIBRDKAFKA:
        return Reading(reason="not_in_librdkafka", is_applicable=False)
    if name in given.other_defaults:
        return Reading(reason="other_default")
    is_given = name in given.used
    value = given.used[name] if is_given else check.reads.default
    return Reading((Found(subject="file" if is_given else "Kafka's default", value=_plain(value)),))


_OF_MACHINE: Mapping[Source, Callable[[Check, Places], Reading]] = {
    "machine": _machine,
    "sysctl": _kernel,
    "sys": _kernel,
    "limit": _limit,
}
_OF_CLUSTER: Mapping[Source, Callable[[Check, ClusterFacts], Reading]] = {
    "cluster": lambda _, cluster: Reading((Found(subject="cluster", value=len(cluster.brokers)),)),
    "broker": _broker,
    "topic": _topic,
    "group": _group,
}
_READERS: Mapping[Source, Callable[[Check, Places], Reading]] = {
    "network": lambda _, places: link_speed(places),
    "mount": _mount,
    "disk": _disk,
    "jvm": _jvm,
    "producer": _client,
    "consumer": _client,
    "code": lambda _, __: Reading(reason="in_code"),
    "unmeasured": lambda _, __: Reading(reason="not_measured"),
}


def _elsewhere(places: Places) -> str:
    """Return the reason why this machine's values do not cover all brokers; empty if they do."""
    return "brokers_elsewhere" if places.brokers_elsewhere else ""


def _plain(value: Plain | None) -> Plain | None:
    """Parse a whole number; return other values unchanged."""
    if not isinstance(value, str):
        return value
    digits = value.removeprefix("-")
    return int(value) if digits.isascii() and digits.isdigit() else value


def subjects(found: Iterable[Found]) -> dict[str, list[str]]:
    """Group subjects by their value, as text."""
    groups: dict[str, list[str]] = {}
    for each in found:
        groups.setdefault(plain_text(each.value), []).append(each.subject)
    return groups


def plain_text(value: Plain | None) -> str:
    """Return a value as text: empty for None, booleans as `true` or `false`."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).lower() if isinstance(value, bool) else str(value)
