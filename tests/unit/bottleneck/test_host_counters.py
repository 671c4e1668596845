"""Counting this very machine while something loads it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from kafka_pareto.bottleneck.host_counters import HostCounters
from kafka_pareto.bottleneck.load_window import LoadWindow
from kafka_pareto.bottleneck.network_interface import (
    interface_busy_fraction,
    interface_bytes,
    interface_speed_mbit_s,
    interface_to,
)
from kafka_pareto.brokers.jmx import JmxAgent
from kafka_pareto.brokers.nodes import Node, nodes_in
from kafka_pareto.study.load_counters import LoadCounters

pytestmark = pytest.mark.fast

_PAUSE = "[{at}][1.0s][info][gc          ] GC(1) Pause Full (G1 Compaction Pause) 71M->55M(72M) {ms}ms\n"


class BusyProcess:
    """Stands where a broker would: a process that uses a core, and a folder with a log of collections."""

    def __init__(self, folder: Path, pid: int) -> None:
        (node,) = nodes_in(folder, [(1, 2)])
        node.data_folder.mkdir(parents=True)
        self.nodes: dict[str, Node] = {node.name: node}
        self.pids = {node.name: pid}
        self.jmx: dict[str, JmxAgent] = {}

    def gc_logs(self, name: str) -> list[Path]:
        return sorted(self.nodes[name].folder.glob("gc-*.log"))

    def log_pause(self, ms: float) -> None:
        at = time.strftime("%Y-%m-%dT%H:%M:%S.", time.gmtime()) + f"{int(time.time() * 1000) % 1000:03d}+0000"
        with (self.nodes["kafka-1"].folder / "gc-0001.log").open("a") as log:
            log.write(_PAUSE.format(at=at, ms=ms))


@contextmanager
def busy_process(folder: Path) -> Iterator[BusyProcess]:
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield BusyProcess(folder, process.pid)
    finally:
        process.kill()
        process.wait()


def test_cpu_pauses_and_disk_of_what_runs_are_counted(tmp_path: Path) -> None:
    with busy_process(tmp_path) as probes:
        probes.log_pause(500.0)
        with HostCounters(probes=probes, period_s=0.05) as watched:
            time.sleep(0.4)
            probes.log_pause(120.0)
            time.sleep(0.3)
        found = watched.counters()

    assert found.counted_s is not None
    assert 0.5 <= found.counted_s < 5
    assert found.broker_cpu_s is not None
    assert found.broker_cpu_s > 0.05
    assert found.broker_cpu_cores == pytest.approx(found.broker_cpu_s / found.counted_s)
    assert found.host_cpu_busy_fraction is not None
    assert found.broker_cpu_cores is not None
    assert found.host_cpu_busy_fraction * (psutil.cpu_count() or 1) > 0.5 * found.broker_cpu_cores
    assert found.busiest_core_fraction is not None
    assert found.busiest_core_fraction >= found.host_cpu_busy_fraction - 0.05
    assert found.gc_pause_longest_ms == 120.0  # and not the earlier one
    assert found.gc_pause_fraction == pytest.approx(0.120 / found.counted_s)
    assert found.nic_busy_fraction is None
    assert found.request_handler_idle_fraction is None


def test_only_the_part_that_counts_is_counted(tmp_path: Path) -> None:
    with busy_process(tmp_path) as probes:
        with HostCounters(LoadWindow(0.1, 0.7), probes, period_s=0.05) as watched:
            probes.log_pause(10.0)
            time.sleep(0.8)
            probes.log_pause(50.0)
            time.sleep(0.7)
        early, late = watched.counters(), watched.counters(LoadWindow(0.75, 1.5))

    assert early.counted_s == pytest.approx(0.6, abs=0.15)
    assert early.gc_pause_longest_ms == 0.0
    assert late.gc_pause_longest_ms == 50.0
    assert early.broker_cpu_s == late.broker_cpu_s  # of the whole load


def test_a_load_that_is_over_at_once_has_no_counters() -> None:
    with HostCounters(LoadWindow(5.0, 10.0)) as watched:
        pass
    assert watched.counters() == LoadCounters()


def test_a_load_that_fails_leaves_no_thread_behind() -> None:
    watched = HostCounters()
    with pytest.raises(ValueError, match="load"), watched:
        raise ValueError("load")
    assert watched.counters() == LoadCounters()


def test_brokers_on_this_machine_are_reached_through_no_interface() -> None:
    own = [item.address for items in psutil.net_if_addrs().values() for item in items if item.family.name == "AF_INET"]
    assert interface_to(["127.0.0.1", *own]) is None


def test_an_interface_is_as_busy_as_its_busier_direction_and_unknown_without_a_speed() -> None:
    before, after = (0, 0), (250_000_000, 1_000)
    assert interface_busy_fraction(1000, before, after, 4.0) == pytest.approx(0.5)
    assert interface_busy_fraction(interface_speed_mbit_s("lo"), before, after, 4.0) is None
    assert interface_busy_fraction(1000, before, interface_bytes("gone"), 4.0) is None
