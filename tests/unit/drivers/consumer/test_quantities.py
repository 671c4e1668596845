"""The quantities of a group of consumers: each comes back from a stored repetition as it was measured."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_pareto.drivers.consumer.quantities import (
    CONSUMER_QUANTITIES,
    ConsumerQuantities,
    FetchMetrics,
    LiveFigures,
    ReadingFigures,
)

pytestmark = pytest.mark.fast

DRAINED = ConsumerQuantities(
    mode="drain",
    group_size=3,
    records_expected=100,
    records_read=100,
    records_lost=0,
    records_twice=0,
    rebalance_s=0.5,
    read_mib_s=12.5,
    figures=ReadingFigures(2.0, 50.0, 0.25, 0.4),
    client=FetchMetrics(fetch_latency_avg_ms=4.0),
)
LIVE = replace(DRAINED, mode="live", live=LiveFigures(50.0, 49.0, 0, lag_slope_records_s=0.1))


@pytest.mark.parametrize(
    "measured", [DRAINED, LIVE, ConsumerQuantities("live", 1)], ids=["drained", "live", "nothing measured"]
)
def test_measured_values_round_trip(measured: ConsumerQuantities) -> None:
    values = measured.values()

    assert list(values) == [each.name for each in CONSUMER_QUANTITIES]
    assert all(each.takes(values[each.name]) for each in CONSUMER_QUANTITIES)
    assert ConsumerQuantities.of(values) == measured


def test_names_end_in_their_units() -> None:
    units = {each.name: each.unit for each in CONSUMER_QUANTITIES}

    assert units["lag_avg_s"] == "s"
    assert units["lag_max_records"] == "records"
    assert units["lag_slope_records_s"] == units["read_records_s"] == "records/s"
    assert units["end_to_end_latency_p95_ms"] == "ms"
