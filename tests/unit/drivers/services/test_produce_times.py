"""Means of produce requests between two readings of brokers."""

from __future__ import annotations

import pytest

from kafka_pareto.bottleneck.broker_metrics import BrokerReading
from kafka_pareto.drivers.services.produce_times import produce_times
from kafka_pareto.drivers.services.quantities import ProduceTimes

pytestmark = pytest.mark.fast


def reading(requests: float, total_ms: float, remote_ms: float, replicated: float = 0.0) -> BrokerReading:
    metrics = {"kafka_replicated_bytes": replicated}
    for name, mean_ms in (("total", total_ms), ("remote", remote_ms), ("responsequeue", 0.5), ("responsesend", 0.25)):
        metrics |= {f"kafka_produce_{name}_ms_count": requests, f"kafka_produce_{name}_ms_mean": mean_ms}
    return BrokerReading(0.0, metrics)


def test_each_request_of_each_broker_counts_equally() -> None:
    before = {11: reading(10, 5.0, 1.0), 12: reading(0, 0.0, 0.0)}
    after = {11: reading(20, 5.5, 1.5), 12: reading(30, 2.0, 1.0, replicated=2 << 20)}
    found = produce_times(before, after)

    assert found.produce_total_ms == pytest.approx((20 * 5.5 - 10 * 5.0 + 30 * 2.0) / 40)
    assert found.produce_remote_ms == pytest.approx((20 * 1.5 - 10 * 1.0 + 30 * 1.0) / 40)
    assert found.produce_response_ms == pytest.approx(0.75)
    assert found.replicated_mib == 2.0


def test_nothing_is_known_of_a_broker_that_was_restarted_or_is_gone() -> None:
    before = {11: reading(10, 5.0, 1.0)}

    assert produce_times(before, {13: reading(300, 5.0, 1.0)}) == ProduceTimes()
    assert produce_times(before, {}) == ProduceTimes()
    assert produce_times({}, {}) == ProduceTimes()
