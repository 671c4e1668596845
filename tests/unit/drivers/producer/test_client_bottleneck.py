"""Load generators as the bottleneck instead of Kafka; on numbers as the real ones report them."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import pytest

from kafka_pareto.bottleneck.load_counters import LoadCounters, LoadWindow
from kafka_pareto.campaign.records import TimedLoad
from kafka_pareto.drivers.common.load_tool import (
    ClientMetrics,
    LoadFigures,
    LoadRequest,
    LoadResult,
    MachineShare,
)
from kafka_pareto.drivers.producer.client_bottleneck import (
    expected_window,
    generator_bound,
    measured_window,
    with_client,
)
from tests.recorded import recorded_rows

pytestmark = pytest.mark.fast

TIMED = TimedLoad(warmup_s=1.0, seconds=2.5, paced_warmup_s=0.5, paced_seconds=3.0, paced_rate_records_s=6000.0)
BUFFER_BYTES = 32 << 20
COUNTED = TimedLoad(warmup_s=2.0, seconds=10.0, paced_warmup_s=1.0, paced_seconds=8.0, paced_rate_records_s=1000.0)
REQUEST = LoadRequest("t", 1000, {}, timeout_s=60.0, timed=COUNTED)
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


def request(timed: TimedLoad | None = TIMED, **changes: Any) -> LoadRequest:
    return replace(LoadRequest("t", 8192, {}, timeout_s=60.0, timed=timed), **changes)


def result(
    throughput_records_s: float = 17_000.0,
    *,
    held_records_s: float | None = 6000.0,
    p95_ms: float = 20.0,
    from_send_p95_ms: float = 20.0,
    buffer_wait_s: float | None = 0.0,
    **changes: Any,
) -> LoadResult:
    figures = LoadFigures(
        throughput_records_s,
        *[p95_ms] * 6,
        latency_from_send_p95_ms=from_send_p95_ms,
        paced_rate_asked_records_s=6000.0 if held_records_s else None,
        paced_rate_records_s=held_records_s,
    )
    given = LoadResult(
        records_attempted=80_000,
        records_sent=80_000,
        figures=figures,
        client=ClientMetrics(buffer_wait_s=buffer_wait_s),
        wall_s=8.2,
        client_cpu_s=7.0,
        errors="",
        unthrottled_s=2.5,
        unthrottled_sent_records_s=throughput_records_s,
        sending_cpu_s=0.83,
        unthrottled_wait_s=1.5,
    )
    return replace(given, **changes)


def late(held_records_s: float = 5400.0, from_send_p95_ms: float = 20.0, **changes: Any) -> LoadResult:
    return result(held_records_s=held_records_s, p95_ms=320.0, from_send_p95_ms=from_send_p95_ms, **changes)


def of_kafkas_tool(
    records: int, throughput_records_s: float, buffer_wait_s: float | None = 0.0, **changes: Any
) -> LoadResult:
    names = ("unthrottled_s", "unthrottled_sent_records_s", "sending_cpu_s", "unthrottled_wait_s")
    unknown = dict.fromkeys(names) | {"records_sent": records, "records_attempted": records}
    return result(throughput_records_s, held_records_s=None, buffer_wait_s=buffer_wait_s, **unknown | changes)


LIMITED = request(throughput_records_s=17_000.0)
PACED = request(None, throughput_records_s=20_000.0)
LARGE_BUFFER = request(None, properties={"buffer.memory": 4 * BUFFER_BYTES})
SLOW_END = result(14_000.0, unthrottled_sent_records_s=17_000.0, unthrottled_wait_s=0.1)


@pytest.mark.parametrize(
    ("asked", "measured"),
    [
        pytest.param(request(), result(), id="it waits for Kafka"),
        pytest.param(request(None), of_kafkas_tool(80_000, 8000.0, 3.9), id="Kafka's tool waits for Kafka"),
        pytest.param(request(), result(figures=None), id="no figures"),
        pytest.param(request(), result(unthrottled_wait_s=1.0, sending_cpu_s=4.0), id="one thread that waits"),
        pytest.param(request(), late(buffer_wait_s=0.4, unthrottled_wait_s=4.0), id="one producer's buffer was full"),
        pytest.param(request(None), of_kafkas_tool(100_000, 20_000.0, None), id="an unknown wait"),
        pytest.param(request(None), of_kafkas_tool(1000, 1000.0), id="all fits into the buffer"),
        pytest.param(request(None), of_kafkas_tool(4 * BUFFER_BYTES // 8192 - 1, 1000.0), id="not quite four buffers"),
        pytest.param(LARGE_BUFFER, of_kafkas_tool(50_000, 20_000.0), id="a larger buffer"),
        pytest.param(LIMITED, result(unthrottled_wait_s=0.0), id="the limit was reached"),
        pytest.param(LIMITED, SLOW_END, id="the limit was reached while sending, and the end was slow"),
        # Sent on time, 5 % too many records wait in the buffer at the end, which never fills.
        pytest.param(PACED, of_kafkas_tool(100_000, 19_000.0), id="a fixed rate that Kafka just misses"),
        pytest.param(request(), late(buffer_wait_s=0.9), id="the buffer was full"),
        pytest.param(request(), late(from_send_p95_ms=315.0), id="only acknowledgements were late"),
        pytest.param(request(), late(held_records_s=5900.0), id="the rate was held"),
    ],
)
def test_a_load_is_not_bound_by_its_tool_without_evidence(asked: LoadRequest, measured: LoadResult):
    assert generator_bound(asked, measured, cores=2) == ""


@pytest.mark.parametrize(
    ("asked", "measured", "says"),
    [
        pytest.param(
            request(),
            result(wall_s=8.0, client_cpu_s=15.2),
            "the load generator was the bottleneck: it used 95 % of 2 cores for 8.0 s",
            id="all cores",
        ),
        pytest.param(
            request(),
            result(client_cpu_s=15.6, wall_s=8.2 + 5.0, settling_s=5.0),
            "*it used 95 % of 2 cores for 8.2 s",
            id="all cores but for the write-back between the parts",
        ),
        # Recorded: zstd at 8,192 B on two cores that it shared with three brokers.
        pytest.param(
            request(),
            result(17_274, unthrottled_wait_s=0.1),
            "the load generator was the bottleneck: its sending thread (creating, serializing and compressing records) "
            "waited for Kafka for only 0.10 of 2.5 s and used 0.8 s of CPU time",
            id="a thread that hardly waits",
        ),
        pytest.param(
            request(producers=3),
            result(17_274, unthrottled_wait_s=1.0, sending_cpu_s=4.0),
            "the load generator was the bottleneck: its 3 sending threads (creating, serializing and compressing "
            "records) waited for Kafka for only 1.00 of 7.5 s in total and used 4.0 s of CPU time",
            id="threads that together hardly wait",
        ),
        pytest.param(
            request(producers=3),
            late(buffer_wait_s=0.4, unthrottled_wait_s=4.0),
            "*missed the fixed rate*",
            id="buffers of several producers with room on average",
        ),
        pytest.param(request(None), of_kafkas_tool(100_000, 20_000.0), "*sending thread*", id="sent beyond the buffer"),
        pytest.param(
            request(throughput_records_s=20_000.0), SLOW_END, "*sending thread*", id="a limit that was not reached"
        ),
        pytest.param(PACED, of_kafkas_tool(100_000, 12_000.0), "*sending thread*", id="far below the fixed rate"),
        pytest.param(
            request(),
            late(2_500.0, machines=(MachineShare("a:1", 2.0, 15.2, 900), MachineShare("b:1", 2.0, 7.0, 900))),
            "*load machine a:1*used 93 % of 2 cores*; about 5 such machines are needed for the fixed rate",
            id="a load machine without a free core, far below the rate",
        ),
        pytest.param(
            request(),
            late(),
            "the load generator missed the fixed rate: it sent 5400 of 6000 records/s, up to 0.30 s late, although the "
            "buffer had room; about 2 such machines are needed for the fixed rate",
            id="sent late while the buffer had room",
        ),
    ],
)
def test_a_load_is_bound_by_its_tool(asked: LoadRequest, measured: LoadResult, says: str):
    assert fnmatchcase(generator_bound(asked, measured, cores=2), says)


def test_a_client_that_its_containers_limit_throttles_is_bound_by_its_cpu_on_a_machine_with_cores_to_spare():
    throttled = result(client_cpu_s=4.0, wall_s=8.2)
    assert generator_bound(request(), throttled, cores=2.0) == ""
    assert generator_bound(request(), throttled, cores=0.5) == (
        "the load generator was the bottleneck: it used 98 % of 0.5 cores for 8.2 s"
    )


def test_no_recorded_cold_burst_of_two_cores_counts_as_saturated():
    said = [
        generator_bound(
            request(None, record_size_bytes=row.record_size_bytes),
            of_kafkas_tool(1000, row.throughput_records_s, wall_s=row.wall_s, client_cpu_s=row.client_cpu_s),
            cores=2,
        )
        for row in recorded_rows().itertuples()
    ]

    assert len(said) == 3050
    assert set(said) == {""}


@pytest.mark.parametrize(
    ("codec", "waited_s", "bound"),
    [("gzip", 0.002, True), ("zstd", 0.10, True), ("lz4", 0.86, False), ("none", 3.6, False), ("snappy", 2.6, False)],
)
def test_recorded_codecs_are_classified_though_a_slow_one_sends_less_than_the_buffer_size(
    codec: str, waited_s: float, bound: bool
):
    """Medians of recorded runs at 8,192 B; gzip sent 50 MiB in 2.5 s, with a buffer of 32 to 128 MiB."""
    measured = result(2600.0, unthrottled_wait_s=waited_s)

    said = generator_bound(request(properties={"compression.type": codec}), measured, cores=2)
    assert bool(said) == bound


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
    paced = COUNTED.model_copy(update={"seconds": 0.0})
    assert expected_window(replace(REQUEST, timed=paced), jvm_is_warm=True) == LoadWindow(0.5, 9.0)


def test_the_part_was_when_the_tool_says_it_was() -> None:
    assert measured_window(RESULT) == LoadWindow(3.2, 13.2)
    assert measured_window(replace(RESULT, unthrottled_began_s=None)) is None


@pytest.mark.parametrize(
    ("machines", "says"),
    [
        pytest.param([("a:1", 2.0, 7.0, 900), ("b:1", 2.0, 7.0, 1_100)], "", id="equal and idle enough"),
        pytest.param(
            [("a:1", 2.0, 7.0, 1_000), ("b:1", 0.5, 3.9, 1_000)],
            "the load machine b:1 was the bottleneck: it used 95 % of 0.5 cores for 8.2 s",
            id="one without a free core",
        ),
        pytest.param(
            [("a:1", 2.0, 7.0, 1_000), ("b:1", 2.0, 7.0, 790), ("c:1", 2.0, 7.0, 1_000)],
            "the load machine b:1 was the bottleneck: it sent 79 % of the others' average number of records",
            id="one slower than the others",
        ),
    ],
)
def test_a_load_machine_at_its_limit_or_behind_the_others_is_named(
    machines: list[tuple[str, float, float, int]], says: str
) -> None:
    shares = tuple(MachineShare(*each) for each in machines)
    # This machine's cores do not matter: it does not send.
    assert generator_bound(request(), result(machines=shares, client_cpu_s=14.0), cores=1.0) == says
