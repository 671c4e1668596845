"""What the client knows of its own waiting, and when its unthrottled part was."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_pareto.bottleneck.load_counters import LoadCounters, LoadWindow
from kafka_pareto.campaign.records import TimedLoad
from kafka_pareto.drivers.common.load_tool import ClientMetrics, LoadFigures, LoadRequest, LoadResult
from kafka_pareto.drivers.producer.client_bottleneck import expected_window, measured_window, with_client

pytestmark = pytest.mark.fast

TIMED = TimedLoad(warmup_s=2.0, seconds=10.0, paced_warmup_s=1.0, paced_seconds=8.0, paced_rate_records_s=1000.0)
REQUEST = LoadRequest("t", 1000, {}, timeout_s=60.0, timed=TIMED)
FIGURES = LoadFigures(20_000.0, 5.0, 9.0, 4.0, 7.0, 8.0, 9.0)
UNTHROTTLED = ClientMetrics(
    request_latency_avg_ms=30.0, records_per_request_avg=50.0, buffer_wait_s=6.0, batch_size_avg_bytes=9_000.0
)
RESULT = LoadResult(
    records_attempted=1,
    records_sent=200_000,
    figures=FIGURES,
    client=ClientMetrics(request_latency_avg_ms=1.0, records_per_request_avg=2.0, buffer_wait_s=0.0),
    wall_s=30.0,
    client_cpu_s=9.0,
    errors="",
    unthrottled_s=10.0,
    sending_cpu_s=4.0,
    unthrottled_wait_s=7.0,
    unthrottled_client=UNTHROTTLED,
    unthrottled_began_s=3.2,
)


def test_the_unthrottled_parts_own_metrics_count_and_not_those_of_the_fixed_rate() -> None:
    found = with_client(LoadCounters(counted_s=9.0), REQUEST, RESULT, brokers=3)
    assert found == LoadCounters(
        counted_s=9.0,
        sending_cpu_cores=0.4,
        sending_wait_fraction=0.7,
        buffer_wait_fraction=0.6,
        in_flight_requests=pytest.approx(20_000 / 50 * 0.030 / 3),
        unthrottled_request_latency_ms=30.0,
        unthrottled_batch_size_avg_bytes=9_000.0,
    )


def test_kafkas_own_tool_has_one_part_and_its_metrics_are_of_that() -> None:
    request = LoadRequest("t", 1000, {}, timeout_s=60.0, records=200_000)
    result = replace(RESULT, unthrottled_s=None, unthrottled_client=None, client=UNTHROTTLED, unthrottled_began_s=None)
    found = with_client(LoadCounters(), request, result, brokers=1)
    assert found.buffer_wait_fraction == 0.6  # of 200,000 records at 20,000 a second
    assert found.in_flight_requests == pytest.approx(12.0)


def test_nothing_is_added_where_nothing_was_measured_or_only_a_fixed_rate() -> None:
    assert with_client(LoadCounters(), REQUEST, replace(RESULT, figures=None), 1) == LoadCounters()
    assert with_client(LoadCounters(), REQUEST, replace(RESULT, unthrottled_s=None), 1) == LoadCounters()


def test_the_part_that_counts_is_expected_after_start_and_warm_up_with_a_lead_in_the_warm_up() -> None:
    assert expected_window(REQUEST) == LoadWindow(2.5, 13.0)
    assert expected_window(REQUEST, jvm_is_warm=True) == LoadWindow(1.5, 12.0)
    assert expected_window(LoadRequest("t", 10, {}, timeout_s=60.0, records=1000)) is None


def test_of_a_load_at_a_fixed_rate_alone_that_is_the_part() -> None:
    paced = TIMED.model_copy(update={"seconds": 0.0})
    assert expected_window(replace(REQUEST, timed=paced), jvm_is_warm=True) == LoadWindow(0.5, 9.0)


def test_the_part_was_when_the_tool_says_it_was() -> None:
    assert measured_window(RESULT) == LoadWindow(3.2, 13.2)
    assert measured_window(replace(RESULT, unthrottled_began_s=None)) is None
