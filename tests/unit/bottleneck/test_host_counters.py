"""Counting this very machine while something loads it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import psutil
import pytest

from kafka_pareto.bottleneck.host_counters import HostCounters
from kafka_pareto.bottleneck.load_counters import LoadCounters, LoadWindow
from kafka_pareto.bottleneck.network import (
    interface_busy_fraction,
    interface_bytes,
    interface_speed_mbit_s,
    interface_to,
)
from tests.unit.bottleneck.busy_process import BusyProcess, busy_process

pytestmark = [pytest.mark.fast, pytest.mark.slow]


def test_cpu_pauses_and_disk_of_running_processes_are_counted(tmp_path: Path) -> None:
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


class _Looks(BusyProcess):
    """Brokers that note when they are sampled."""

    def __init__(self, folder: Path, pid: int) -> None:
        self.looked_at_s: list[float] = []
        super().__init__(folder, pid)

    @property
    def pids(self) -> dict[str, int]:
        self.looked_at_s.append(time.monotonic())
        return super().pids

    def look_after(self, seconds: float) -> float:
        """Wait for a look that long from now; return its time, in seconds since the first one."""
        due_s = time.monotonic() + seconds
        while self.looked_at_s[-1] < due_s:
            time.sleep(0.01)
        return self.looked_at_s[-1] - self.looked_at_s[0]


def test_pauses_during_and_after_the_measured_part_are_separated(tmp_path: Path) -> None:
    probes = _Looks(tmp_path, os.getpid())
    with HostCounters(probes=probes, period_s=0.05) as watched:
        probes.log_pause(120.0)
        counted_s = probes.look_after(0.6)
        time.sleep(0.1)  # the window's end leaves half a period's slack
        probes.log_pause(80.0)
        probes.look_after(0.6)
    first = watched.counters(LoadWindow(0.0, counted_s))

    assert (first.gc_pause_longest_ms, first.later_gc_pause_longest_ms) == (120.0, 80.0)
    assert watched.counters().later_gc_pause_longest_ms is None  # all of it counts: nothing is later


def test_a_broker_restarted_meanwhile_has_no_cpu_time(tmp_path: Path) -> None:
    with busy_process(tmp_path) as probes:
        with HostCounters(probes=probes, period_s=0.05) as watched:
            time.sleep(0.4)
            probes.pid = os.getpid()
            time.sleep(0.4)
        found = watched.counters()

    assert found.counted_s is not None
    assert found.broker_cpu_s is None
    assert found.broker_cpu_cores is None


def test_a_load_that_ends_immediately_has_no_counters() -> None:
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


class _UnreadableFrom(BusyProcess):
    """Brokers whose processes cannot be read from this sample on."""

    looks = 0

    def __init__(self, folder: Path, look: int) -> None:
        self._first_failing = look
        super().__init__(folder, os.getpid())

    @property
    def pids(self) -> dict[str, int]:
        self.looks += 1
        if self.looks >= self._first_failing:
            raise OSError("/proc is gone")
        return super().pids


@pytest.mark.parametrize(("failing", "seconds"), [(3, 2.0), (2, 0.0)], ids=["during the load", "at its end"])
def test_looks_that_fail_cost_the_load_nothing_and_are_not_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, failing: int, seconds: float
) -> None:
    until_s = time.monotonic() + seconds
    with HostCounters(probes=_UnreadableFrom(tmp_path, failing), period_s=0.05 if seconds else 60.0) as watched:
        while not caplog.text and time.monotonic() < until_s:
            time.sleep(0.02)

    assert watched.counters() == LoadCounters()
    assert caplog.text.count("cannot read host counters; this load has none") == 1
