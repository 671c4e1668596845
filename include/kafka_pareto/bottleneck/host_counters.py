"""Measure a load's use of this machine and its brokers while it runs."""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

import psutil

from kafka_pareto.bottleneck.broker_metrics import (
    BrokerReading,
    BrokerUse,
    Pause,
    broker_use,
    ends_of,
    pauses_since,
    read_broker,
)
from kafka_pareto.bottleneck.cpu_limit import (
    CoreTimes,
    LimitedPeriods,
    busiest_core_fraction,
    busy_fraction,
    read_cores,
    read_limited_periods,
    throttled_fraction,
)
from kafka_pareto.bottleneck.disk import DiskCounters, disk_statistics, disk_use, read_disk, read_io_stall_s
from kafka_pareto.bottleneck.load_counters import LoadCounters, LoadWindow
from kafka_pareto.bottleneck.network import (
    Address,
    Connection,
    Link,
    interface_busy_fraction,
    interface_bytes,
    interface_speed_mbit_s,
    interface_to,
    link_use,
    read_links,
    resolved,
)
from kafka_pareto.brokers.jmx import JmxAgent
from kafka_pareto.brokers.nodes import LOOPBACK, Node
from kafka_pareto.errors import ClusterError

log = logging.getLogger(__name__)

_SHORTEST_S = 0.5
_AS_BUSY_FRACTION = 0.6
_MS_PER_S = 1000.0


class BrokerProbes(Protocol):
    """Access to brokers of this process, such as `brokers.brokers.Brokers`."""

    @property
    def nodes(self) -> Mapping[str, Node]:
        """Map each broker to its node, which knows its data folder."""

    @property
    def pids(self) -> Mapping[str, int]:
        """Map each running broker to its process ID."""

    @property
    def jmx(self) -> Mapping[str, JmxAgent]:
        """Map brokers to their agents, which read `BROKER_METRICS`; empty without agents."""

    def gc_logs(self, name: str) -> Sequence[Path]:
        """List the broker's garbage collection logs."""


@dataclass(frozen=True)
class _Snapshot:
    """Values that are cheap to read; the brokers' CPU time is by process."""

    at_s: float
    cores: CoreTimes
    io_stall_s: float | None
    disk: DiskCounters | None
    nic_bytes: tuple[int, int] | None
    broker_cpu_s: Mapping[int, float]
    limited_periods: Mapping[int, LimitedPeriods]
    links: Mapping[Connection, Link]


@dataclass(frozen=True)
class _Mark:
    """The brokers' metrics at a time, by broker and process, since a restarted broker counts from zero."""

    at_s: float
    readings: Mapping[tuple[str, int | None], BrokerReading]


class HostCounters:
    """A context that measures a load; `counters()` returns the result after the context has ended.

    A thread takes a sample every half second, which costs a few milliseconds of CPU. The brokers' metrics are read only
    twice, since a reading costs a broker up to 0.1 s of CPU.

    Args:
        expected: The expected time of the measured part, when the brokers' metrics are read; None for the whole load,
            with readings before and after it.
        probes: The brokers, if they belong to this process.
        addresses: Addresses of other brokers, whose connections and interface are observed.
        period_s: Time between two samples.
    """

    def __init__(
        self,
        expected: LoadWindow | None = None,
        probes: BrokerProbes | None = None,
        addresses: Sequence[Address] = (),
        period_s: float = 0.5,
    ) -> None:
        self._expected = expected or LoadWindow(0.0, math.inf)
        self._probes = probes
        self._period_s = period_s
        addresses = addresses or [(LOOPBACK, node.port) for node in (probes.nodes if probes else {}).values()]
        self._interface = interface_to([host for host, _ in addresses])
        self._addresses = resolved(addresses)
        node = next(iter(probes.nodes.values()), None) if probes else None
        self._disk = disk_statistics(node.data_folder) if node else None
        self._snapshots: list[_Snapshot] = []
        self._marks: list[_Mark] = []
        self._pauses: dict[str, list[Pause]] = {}
        self._ended = threading.Event()
        self._failed = False

    def __enter__(self) -> Self:
        if self._expected.begin_s <= 0:
            self._mark(time.monotonic())
        self._gc_ends = {name: ends_of(logs) for name, logs in self._gc_logs().items()}
        self._epoch_s = time.time() - time.monotonic()
        self._began_s = self._look().at_s
        self._thread = threading.Thread(target=self._counting, args=(self._watch,), name="host-counters", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        if not self._failed:
            self._counting(self._look_last)

    def counters(self, part: LoadWindow | None = None) -> LoadCounters:
        """Return the counters; all None if the part was too short or sampling failed.

        Args:
            part: The actual time of the measured part; None for the expected one.
        """
        if self._failed:
            return LoadCounters()
        part = part or self._expected
        begin_s, end_s = self._began_s + part.begin_s, self._began_s + part.end_s
        slack_s = self._period_s / 2
        seen = [each for each in self._snapshots if begin_s - slack_s <= each.at_s <= end_s + slack_s]
        if not seen or (seconds := seen[-1].at_s - seen[0].at_s) < _SHORTEST_S:
            return LoadCounters()
        first, last = seen[0], seen[-1]
        broker_cpu_cores = _growth(0.0, _broker_cpu_s(first, last), seconds)
        uses = self._broker_uses(broker_cpu_cores)
        pauses_ms = self._pauses_ms(first.at_s, last.at_s)
        ended_s = self._snapshots[-1].at_s
        later_ms = self._pauses_ms(last.at_s, ended_s) if ended_s - last.at_s >= _SHORTEST_S else []
        return LoadCounters(
            counted_s=seconds,
            host_cpu_busy_fraction=busy_fraction(first.cores, last.cores),
            busiest_core_fraction=busiest_core_fraction([each.cores for each in seen]),
            io_stall_fraction=_growth(first.io_stall_s, last.io_stall_s, seconds),
            cpu_throttled_fraction=throttled_fraction(first.limited_periods, last.limited_periods),
            broker_cpu_s=_broker_cpu_s(self._snapshots[0], self._snapshots[-1]),
            broker_cpu_cores=broker_cpu_cores,
            **vars(disk_use(first.disk, last.disk, seconds)),
            nic_busy_fraction=interface_busy_fraction(
                interface_speed_mbit_s(self._interface), first.nic_bytes, last.nic_bytes, seconds
            ),
            **vars(link_use(first.links, last.links, seconds)),
            gc_pause_longest_ms=_most([max(of_one, default=0.0) for of_one in pauses_ms]),
            later_gc_pause_longest_ms=_most([max(of_one, default=0.0) for of_one in later_ms]),
            gc_pause_fraction=_most([sum(of_one) / _MS_PER_S / seconds for of_one in pauses_ms]),
            network_idle_fraction=_least([use.network_idle_fraction for use in uses]),
            request_handler_idle_fraction=_least([use.request_handler_idle_fraction for use in uses]),
            request_queue_requests=_most([use.request_queue_requests for use in uses]),
            request_queue_time_ms=_most([use.request_queue_time_ms for use in uses]),
            log_flush_s=_most([use.log_flush_s for use in uses]),
            log_flushes_per_s=_most([use.log_flushes_per_s for use in uses]),
        )

    def _counting(self, look: Callable[[], None]) -> None:
        """Take a sample; a failure discards the counters, not the load."""
        try:
            look()
        except Exception:
            self._failed = True
            log.exception("cannot read host counters; this load has none")

    def _watch(self) -> None:
        while not self._ended.wait(self._period_s):
            seen = self._look()
            due_s = (self._expected.begin_s, self._expected.end_s, math.inf)[len(self._marks)]
            if seen.at_s - self._began_s >= due_s:
                self._mark(seen.at_s)

    def _look_last(self) -> None:
        last = self._look()
        if len(self._marks) == 1:
            self._mark(last.at_s)
        self._pauses = {name: pauses_since(self._gc_ends[name], logs) for name, logs in self._gc_logs().items()}

    def _look(self) -> _Snapshot:
        pids = list(self._probes.pids.values()) if self._probes else []
        seen = _Snapshot(
            at_s=time.monotonic(),
            cores=read_cores(),
            io_stall_s=read_io_stall_s(),
            disk=read_disk(self._disk) if self._disk else None,
            nic_bytes=interface_bytes(self._interface) if self._interface else None,
            broker_cpu_s=_read_cpu_s(pids),
            limited_periods=read_limited_periods([os.getpid(), *pids]),
            links=read_links(self._addresses),
        )
        self._snapshots.append(seen)
        return seen

    def _mark(self, at_s: float) -> None:
        readings: dict[tuple[str, int | None], BrokerReading] = {}
        if self._probes:
            for name, agent in self._probes.jmx.items():
                with suppress(ClusterError):  # a broker that is down fails the load itself
                    readings[name, self._probes.pids.get(name)] = read_broker(agent)
        self._marks.append(_Mark(at_s, readings))

    def _gc_logs(self) -> dict[str, Sequence[Path]]:
        return {name: self._probes.gc_logs(name) for name in self._probes.nodes} if self._probes else {}

    def _broker_uses(self, busy_cores: float | None) -> list[BrokerUse]:
        """List the work of each broker's threads between the readings; empty unless the load covered that time.

        A load may begin later than expected; the readings would then include idle time.
        """
        if len(self._marks) < 2:
            return []
        before, after = self._marks
        between = [each for each in self._snapshots if before.at_s <= each.at_s <= after.at_s]
        if busy_cores is not None and len(between) > 1:
            seconds = between[-1].at_s - between[0].at_s
            cores = _growth(0.0, _broker_cpu_s(between[0], between[-1]), seconds)
            if cores is not None and cores < _AS_BUSY_FRACTION * busy_cores:
                return []
        pairs = [(reading, after.readings.get(process)) for process, reading in before.readings.items()]
        return [broker_use(earlier, later) for earlier, later in pairs if later]

    def _pauses_ms(self, first_s: float, last_s: float) -> list[list[float]]:
        """List the pauses of each broker with a log; the log uses the wall clock."""
        begin_s, end_s = self._epoch_s + first_s, self._epoch_s + last_s
        return [
            [pause.duration_ms for pause in self._pauses[name] if begin_s <= pause.ended_at_s <= end_s]
            for name, logs in self._gc_logs().items()
            if logs
        ]


def _read_cpu_s(pids: Iterable[int]) -> dict[int, float]:
    found = {}
    for pid in pids:
        with suppress(psutil.Error):  # the process has ended
            times = psutil.Process(pid).cpu_times()
            found[pid] = times.user + times.system
    return found


def _broker_cpu_s(before: _Snapshot, after: _Snapshot) -> float | None:
    """Add up the brokers' CPU time; None if a broker has been started or restarted."""
    ran_before = before.broker_cpu_s
    if not after.broker_cpu_s or not after.broker_cpu_s.keys() <= ran_before.keys():
        return None
    return sum(cpu_s - ran_before[pid] for pid, cpu_s in after.broker_cpu_s.items())


def _growth(before: float | None, after: float | None, seconds: float) -> float | None:
    return None if before is None or after is None else (after - before) / seconds


def _least(values: Sequence[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)


def _most(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
