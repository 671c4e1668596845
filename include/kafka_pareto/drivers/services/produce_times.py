"""Read the brokers' metrics of produce requests and replication, before and after orders."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from kafka_pareto.bottleneck.broker_metrics import BrokerReading, growth_of_sum, read_broker
from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.drivers.services.quantities import ProduceTimes
from kafka_pareto.errors import ClusterError

SERVICES_METRICS = Path(__file__).with_name("metrics.yaml")
"""The beans read by the JMX agents of the topologies' brokers."""

_COUNT = "kafka_produce_total_ms_count"
_PARTS = {
    "produce_total_ms": ("kafka_produce_total_ms",),
    "produce_queue_ms": ("kafka_produce_queue_ms",),
    "produce_local_ms": ("kafka_produce_local_ms",),
    "produce_remote_ms": ("kafka_produce_remote_ms",),
    "produce_response_ms": ("kafka_produce_responsequeue_ms", "kafka_produce_responsesend_ms"),
}
_REPLICATED = "kafka_replicated_bytes"
_MIB = 1 << 20

Readings = Mapping[int, BrokerReading]
"""One reading per broker, by its process."""


def read_all(brokers: Brokers) -> Readings:
    """Read every running broker; skip those that do not answer."""
    found = {}
    for name, pid in brokers.pids.items():
        with suppress(ClusterError):
            found[pid] = read_broker(brokers.jmx[name])
    return found


def produce_times(before: Readings, after: Readings) -> ProduceTimes:
    """Return the means over all produce requests between two readings; None if a broker was started meanwhile."""
    pairs = [(before[pid], after[pid]) for pid in before if pid in after]
    requests = sum(_growth(pair, _COUNT) for pair in pairs)
    if before.keys() != after.keys() or requests <= 0:
        return ProduceTimes()
    sums_ms = {
        name: sum(growth_of_sum(*pair, histogram) or 0.0 for pair in pairs for histogram in histograms)
        for name, histograms in _PARTS.items()
    }
    return ProduceTimes(
        **{name: sum_ms / requests for name, sum_ms in sums_ms.items()},
        replicated_mib=sum(_growth(pair, _REPLICATED) for pair in pairs) / _MIB,
    )


def _growth(pair: tuple[BrokerReading, BrokerReading], name: str) -> float:
    return pair[1].metrics.get(name, 0.0) - pair[0].metrics.get(name, 0.0)
