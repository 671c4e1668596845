"""The counted part of a load. It depends on when a thread is woken, so nothing else may run at the same time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kafka_pareto.bottleneck.host_counters import HostCounters
from kafka_pareto.bottleneck.load_counters import LoadWindow
from tests.unit.bottleneck.busy_process import busy_process

pytestmark = pytest.mark.long


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
