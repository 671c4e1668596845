"""The consumers' load generator: its options, its output, and the results."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_pareto.drivers.common.load_tool import Execution
from kafka_pareto.drivers.consumer.load import (
    ConsumerRequest,
    ConsumerResult,
    LiveLoad,
    consumer_options,
    consumer_result,
)
from kafka_pareto.drivers.consumer.output import LagSample, lag_trend
from kafka_pareto.errors import LoadToolError
from tests.damage import damaged
from tests.recorded import FIXTURES

pytestmark = pytest.mark.fast

DRAIN, LIVE, END_NOT_REACHED = (
    (FIXTURES / "consumer_load" / f"{name}.json").read_text() for name in ("drain", "live", "end_not_reached")
)
BESIDE = LiveLoad(200, 500.0, seconds=1.5, properties={"buffer.memory": 64 << 20})


def request(**changes: Any) -> ConsumerRequest:
    return ConsumerRequest("load", "g", **{"properties": {}, "timeout_s": 10.0} | changes)


def result_of(text: str, **changes: Any) -> ConsumerResult:
    live = BESIDE if '"live"' in text else None
    return consumer_result(Execution(text, "a complaint", wall_s=3.0, cpu_s=2.0), request(live=live, **changes))


def changed(text: str = DRAIN, **values: Any) -> str:
    return json.dumps(json.loads(text) | values)


def with_partition(**values: Any) -> str:
    """The recorded output with values of its first partition replaced."""
    content = json.loads(DRAIN)
    content["partitions"][0] |= values
    return json.dumps(content)


def test_a_group_without_a_producer_reads_the_existing_records() -> None:
    asked = consumer_options(request(consumers=3, warmup_s=1.5, poll_pause_ms=2.0))
    given_options = dict(zip(asked[::2], asked[1::2], strict=True))

    assert given_options == {
        "--mode": "drain",
        "--topic": "load",
        "--group": "g",
        "--consumers": "3",
        "--warmup-seconds": "1.5",
        "--timeout-seconds": "60.0",
        "--poll-pause-ms": "2.0",
    }


def test_a_live_group_gets_the_producers_load_and_both_clients_have_a_file() -> None:
    live = request(properties={"fetch.min.bytes": 65536}, live=BESIDE)
    asked = consumer_options(live)

    assert asked[asked.index("--mode") + 1] == "live"
    assert asked[asked.index("--rate") + 1] == "500.0"
    assert asked[asked.index("--seconds") + 1] == "1.5"
    assert live.client_properties == {
        "--command-config": {"fetch.min.bytes": 65536},
        "--producer-config": {"buffer.memory": 64 << 20},
    }
    assert request().client_properties == {"--command-config": {}}


def test_the_heap_fits_the_fetches_of_all_consumers_and_the_producers_buffer() -> None:
    small = {"fetch.max.bytes": 1 << 20}

    assert request(properties=small).heap_mib == 192 + 4
    assert request(properties=small, consumers=10).heap_mib == 192 + 40
    assert request(properties=small, live=BESIDE).heap_mib == 192 + 4 + 128
    assert request().heap_mib == 192 + 4 * 50


def test_rates_cover_reads_after_the_warm_up_and_idle_is_the_waits_share_of_all_threads_time() -> None:
    printed, result = json.loads(DRAIN), result_of(DRAIN)

    found = result.quantities
    assert found.figures is not None
    assert found.figures.read_records_s == printed["measured_records"] / printed["measured_s"]
    assert found.read_mib_s == printed["measured_bytes"] / printed["measured_s"] / 2**20
    assert found.figures.poll_idle_fraction == printed["poll_wait_s"] / (2 * printed["measured_s"])
    assert found.figures.consumer_threads_cpu_s == printed["threads_cpu_s"]
    assert found.client.fetch_latency_avg_ms == printed["client_metrics"]["fetch-latency-avg"]
    assert found.client.records_per_fetch_avg == printed["client_metrics"]["records-per-request-avg"]
    assert (found.records_expected, found.records_read) == (30_000, 30_000)
    assert (found.records_lost, found.records_twice) == (0, 0)
    assert found.live is None
    assert (result.bytes_read, result.errors) == (6_000_000, "a complaint")


def test_a_live_group_says_how_late_records_came_and_how_far_it_was_behind() -> None:
    printed, result = json.loads(LIVE), result_of(LIVE)

    live = result.quantities.live
    assert live is not None
    assert live.end_to_end_latency_p95_ms == printed["latency_us"]["p95"] / 1000
    assert live.live_rate_records_s == pytest.approx(500.0, rel=0.01)
    assert live.lag_max_records == max(each["lag_records"] for each in printed["lag_samples"])
    assert live.lag_avg_s == pytest.approx(sum(each["lag_s"] for each in printed["lag_samples"]) / 7)
    assert live.lag_slope_records_s is not None
    assert live.lag_slope_error_records_s is not None
    by_least_squares = np.polyfit(
        *zip(*((s["at_s"], s["lag_records"]) for s in printed["lag_samples"]), strict=True), 1
    )[0]
    assert abs(live.lag_slope_records_s - by_least_squares) < live.lag_slope_error_records_s
    assert [each.model_dump() for each in result.lag_samples] == (printed["lag_samples"])
    assert live.live_fetch_latency_avg_ms == printed["client_metrics"]["fetch-latency-avg"]
    assert live.live_records_per_fetch_avg == printed["client_metrics"]["records-per-request-avg"]
    assert live.live_poll_idle_fraction == printed["poll_wait_s"] / (printed["consumers"] * printed["measured_s"])


def test_a_group_that_did_not_reach_the_end_measured_nothing_says_why_and_how_much_is_left() -> None:
    result = result_of(END_NOT_REACHED)

    assert result.quantities.figures is None
    assert result.quantities.read_mib_s is None
    assert (result.quantities.records_read, result.records_unread) == (90, 30_910)
    assert result.errors == "the end offsets were not reached within 4.0 s"


SENT = json.loads(LIVE)["sent"]
ONE_EXPIRED = SENT | {"acknowledged": SENT["acknowledged"] - 1, "failures": {"TimeoutException: expired": 1}}


@pytest.mark.parametrize(
    ("text", "warmup_s", "says"),
    [
        (
            changed(measured_s=0.0, measured_records=0, measured_bytes=0),
            20.0,
            "all records were read before the warm-up of 20 s was over",
        ),
        (
            changed(LIVE, measured_records=0, measured_bytes=0),
            2.0,
            "no record arrived in the 1.5 s after the warm-up of 2 s",
        ),
        (changed(LIVE, sent=ONE_EXPIRED), 0.0, "TimeoutException: expired (1 records)"),
    ],
    ids=["read too early", "arrived too late", "not sent"],
)
def test_a_group_without_records_in_the_time_that_counts_measured_nothing_and_says_why(
    text: str, warmup_s: float, says: str
) -> None:
    result = result_of(text, warmup_s=warmup_s)

    assert (result.quantities.figures, result.quantities.live) == (None, None)
    assert result.errors == says


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "printed nothing"),
        (DRAIN[:-20], "Invalid JSON"),
        (changed(surprise=1), "surprise"),
        (changed(measured_s=math.nan), "measured_s"),
        (changed(records=29_999), "must add up to the records read"),
        (changed(measured_records=30_001), "must not exceed those read"),
        (changed(rebalance_s=None), "must have been complete"),
        (changed(latency_records=5), "due times"),
        (changed(sent=SENT), "only if the group is live"),
        (changed(END_NOT_REACHED, failure=None), "reached the end offsets"),
        (changed(partitions=[]), "partitions"),
        (with_partition(records=10_031), "read once plus records lost"),
        (with_partition(lost=1), "read once plus records lost"),
        (with_partition(twice=1), "read once plus records lost"),
        (with_partition(unread=1), "after the last one read"),
        (with_partition(first=None), "first and last offset"),
        (changed(LIVE, sent=SENT | {"acknowledged": 0}), "must add up to those attempted"),
        (changed(LIVE, sent=SENT | {"planned": 0}), "must not exceed planned"),
        (changed(LIVE, lag_samples=json.loads(LIVE)["lag_samples"][::-1]), "samples must increase"),
    ],
)
def test_output_that_does_not_add_up_is_refused_with_the_reason(text: str, says: str) -> None:
    with pytest.raises(LoadToolError, match=says):
        result_of(text)


def test_the_slope_of_a_lag_is_as_unsure_as_samples_that_depend_on_the_ones_before_make_it() -> None:
    # A lag that rises and falls, as with fetches for many bytes.
    lags = np.round(100 + 50 * np.sin(np.arange(40) / 6)).astype(int).tolist()
    samples = [LagSample(at_s=at_s, lag_records=lag, lag_s=0.0) for at_s, lag in enumerate(lags)]
    steady = [LagSample(at_s=at_s, lag_records=10 + 15 * at_s, lag_s=0.0) for at_s in range(6)]

    trend, growing = lag_trend(samples), lag_trend(steady)
    assert trend is not None
    assert growing is not None
    assert trend.error > 2 * np.sqrt(np.polyfit(range(40), lags, 1, cov=True)[1][0, 0])
    assert abs(trend.slope) < 2 * trend.error
    assert growing.slope == pytest.approx(15.0)
    assert lag_trend(steady[:5]) is None


@pytest.mark.slow
@settings(max_examples=150, derandomize=True, deadline=None)
@given(st.sampled_from([DRAIN, LIVE, END_NOT_REACHED]).flatmap(damaged) | st.text())
def test_whatever_the_output_it_is_read_or_refused_and_never_a_silent_zero(text: str) -> None:
    try:
        result = result_of(text)
    except LoadToolError:
        return
    values = result.quantities.values()
    assert all(math.isfinite(value) for value in values.values() if isinstance(value, float))
    assert (values["read_records_s"] is None) == (values["read_mib_s"] is None)
