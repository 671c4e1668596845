"""The verdict: one resource, by rules that check a cause before its symptoms."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from kafka_pareto.bottleneck.ceilings import Ceilings
from kafka_pareto.bottleneck.limiting_resource import LoadSetting, Verdict, verdict_on
from kafka_pareto.bottleneck.load_counters import LoadCounters
from kafka_pareto.bottleneck.words import LABELS, verdict_text
from kafka_pareto.study.quantity import Value

pytestmark = pytest.mark.fast

SETTING = LoadSetting(1024, {"compression.type": "none"})
CEILINGS = Ceilings(
    record_size_bytes=1024,
    batch_size_bytes=65536,
    loopback_mib_s=3000.0,
    disk_write_mib_s=400.0,
    codec_mib_s={"gzip": 30.0, "lz4": 600.0},
    generator_records_s=5e6,
)
# Nothing is near its limit: the verdict is "none found", and each test exhausts one thing.
AT_EASE: dict[str, Value] = asdict(
    LoadCounters(
        counted_s=10.0,
        host_cpu_busy_fraction=0.5,
        busiest_core_fraction=0.7,
        io_stall_fraction=0.01,
        disk_await_ms=1.0,
        disk_busy_fraction=0.1,
        disk_write_mib_s=50.0,
        gc_pause_longest_ms=20.0,
        gc_pause_fraction=0.01,
        network_idle_fraction=0.8,
        request_handler_idle_fraction=0.9,
        log_flush_s=0.05,
        log_flushes_per_s=1.0,
        sending_cpu_cores=0.4,
        sending_wait_fraction=0.9,
        buffer_wait_fraction=0.1,
        in_flight_requests=2.0,
        unthrottled_request_latency_ms=40.0,
    )
) | {"throughput_records_s": 50_000.0, "throughput_mib_s": 48.8, "generator_bound": "", "produce_throttle_max_ms": 0.0}

EXHAUSTED: dict[str, dict[str, Value]] = {
    "throttled": {"produce_throttle_max_ms": 12.0},
    "load_tool": {"generator_bound": "the load tool set the pace"},
    "gc": {"gc_pause_fraction": 0.2},
    "cpu": {"host_cpu_busy_fraction": 0.96},
    "network": {"nic_busy_fraction": 0.81},
    "disk": {"io_stall_fraction": 0.4},
    "request_handlers": {"request_handler_idle_fraction": 0.29},
    "network_threads": {"network_idle_fraction": 0.29},
    "in_flight": {"in_flight_requests": 4.9},
    "buffer_memory": {"buffer_wait_fraction": 0.6},
}


def code(*changes: dict[str, Value], setting: LoadSetting = SETTING, ceilings: Ceilings | None = None) -> str:
    values = dict(AT_EASE)
    for change in changes:
        values |= change
    return verdict_on(values, setting, ceilings).code


def test_none_is_found_where_nothing_is_exhausted_or_nothing_was_counted() -> None:
    assert code() == ""
    assert verdict_on({}, SETTING) == Verdict("", {})
    assert code(dict.fromkeys(AT_EASE)) == ""


@pytest.mark.parametrize("named", EXHAUSTED)
def test_the_one_exhausted_resource_is_named(named: str) -> None:
    assert code(EXHAUSTED[named]) == named


def test_of_several_exhausted_resources_the_cause_is_named_not_its_symptoms() -> None:
    order = list(EXHAUSTED)
    assert [code(*(EXHAUSTED[name] for name in reversed(order[at:]))) for at in range(len(order))] == order


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"host_cpu_busy_fraction": 0.81}, "cpu"),
        ({"cpu_throttled_fraction": 0.9}, "cpu"),
        ({"link_wait_fraction": 0.7, "round_trip_ms": 18.0, "least_round_trip_ms": 0.02}, "network"),
        ({"disk_busy_fraction": 0.9, "request_handler_idle_fraction": 0.2}, "disk"),
        ({"disk_await_ms": 12.0, "request_handler_idle_fraction": 0.2}, "disk"),
    ],
)
def test_each_sign_of_a_resource_is_a_full_sentence(values: dict[str, Value], named: str) -> None:
    found = verdict_on(AT_EASE | values, SETTING)
    assert found.code == named
    assert "unknown" not in verdict_text(found.code, found.numbers)


@pytest.mark.parametrize(
    ("named", "values", "text"),
    [
        ("", {}, "No bottleneck found."),
        (
            "network",
            {"link_wait_fraction": 0.7, "round_trip_ms": 18.0, "least_round_trip_ms": 0.02},
            "The network was the bottleneck: data sent to the brokers was unacknowledged 70 % of the time (threshold "
            "50 %; round trip 18.0 ms, minimum 0.0 ms). A broker that reads slowly would look the same from here.",
        ),
        (
            "disk",
            {"io_stall_fraction": 0.4, "disk_write_mib_s": 50.0},
            "The brokers' disk was the bottleneck: all active tasks were stalled on I/O 40 % of the time (threshold "
            "30 %); the disk wrote 50.0 MiB/s.",
        ),
        (
            "disk",
            {"io_stall_fraction": 0.4},
            "The brokers' disk was the bottleneck: all active tasks were stalled on I/O 40 % of the time (threshold "
            "30 %).",
        ),
        (
            "gc",
            {"gc_pause_fraction": 0.2, "gc_pause_longest_ms": 20.0},
            "Garbage collection was the bottleneck: a broker was paused 20 % of the time, for up to 20.0 ms (threshold "
            "10 %).",
        ),
        (
            "gc",
            {"gc_pause_fraction": 0.04, "gc_pause_longest_ms": 150.0},
            "Garbage collection was the bottleneck: a broker was paused 4 % of the time, for up to 150.0 ms "
            "(thresholds 3 %, 100 ms).",
        ),
        (
            "cpu",
            {"cpu_throttled_fraction": 0.9},
            "CPU was the bottleneck: the container hit its CPU limit in 90 % of scheduling periods (threshold 50 %).",
        ),
    ],
)
def test_the_sentence_gives_the_numbers_that_are_known(named: str, values: dict[str, float], text: str) -> None:
    assert verdict_text(named, values) == text


@pytest.mark.parametrize(
    ("values", "named"),
    [
        # One exhausted thread keeps the cores of a small machine busy.
        ({"host_cpu_busy_fraction": 0.84, "request_handler_idle_fraction": 0.29}, "request_handlers"),
        ({"host_cpu_busy_fraction": 0.97, "request_handler_idle_fraction": 0.29}, "cpu"),
        ({"host_cpu_busy_fraction": 0.84, "in_flight_requests": 4.9}, "cpu"),
        # A busy disk is no limit unless something waits for it.
        ({"disk_busy_fraction": 0.99, "disk_await_ms": 80.0}, ""),
        ({"disk_busy_fraction": 0.99, "disk_await_ms": 80.0, "request_handler_idle_fraction": 0.1}, "disk"),
        ({"disk_busy_fraction": 0.99, "disk_await_ms": 80.0, "io_stall_fraction": None}, ""),
        # Stalls of this machine say nothing about a broker's disk elsewhere.
        ({"io_stall_fraction": 0.4, "disk_busy_fraction": None, "disk_await_ms": None, "disk_write_mib_s": None}, ""),
        # Flushes after so many messages are the disk's, though it looks idle; those at the ends of segments are rare.
        ({"log_flush_s": 0.9, "log_flushes_per_s": 300.0, "in_flight_requests": 5.0}, "disk"),
        ({"log_flush_s": 0.9, "log_flushes_per_s": 2.0}, ""),
        # A single long pause is no limit, repeated ones are.
        ({"gc_pause_longest_ms": 150.0, "gc_pause_fraction": 0.015}, ""),
        ({"gc_pause_longest_ms": 150.0, "gc_pause_fraction": 0.04}, "gc"),
        # Full cores make pauses longer: only pauses of a tenth of the time precede them.
        ({"host_cpu_busy_fraction": 0.98, "gc_pause_longest_ms": 150.0, "gc_pause_fraction": 0.07}, "cpu"),
        ({"host_cpu_busy_fraction": 0.98, "gc_pause_longest_ms": 150.0, "gc_pause_fraction": 0.12}, "gc"),
    ],
)
def test_a_sign_that_has_another_cause_or_harms_nobody_is_not_named(values: dict[str, Value], named: str) -> None:
    assert code(values) == named


@pytest.mark.parametrize("named", EXHAUSTED)
def test_the_numbers_are_those_that_the_sentence_needs(named: str) -> None:
    found = verdict_on(AT_EASE | EXHAUSTED[named], SETTING)
    text = verdict_text(found.code, found.numbers)
    assert "unknown" not in text
    assert text.endswith(".")
    assert found.code in LABELS


BOUND: dict[str, Value] = {"generator_bound": "it hardly waited", "sending_cpu_cores": 0.95}


@pytest.mark.parametrize(
    ("codec", "named"), [("gzip", "cpu"), ("zstd", "cpu"), ("lz4", "load_tool"), ("none", "load_tool")]
)
def test_without_ceilings_a_slow_codec_in_a_busy_sending_thread_is_cpu(codec: str, named: str) -> None:
    assert code(BOUND, setting=LoadSetting(1024, {"compression.type": codec})) == named


@pytest.mark.parametrize(
    ("codec", "mib_s", "named"), [("gzip", 27.0, "cpu"), ("lz4", 480.0, "cpu"), ("lz4", 150.0, "load_tool")]
)
def test_with_ceilings_the_codecs_share_of_the_sending_thread_decides(codec: str, mib_s: float, named: str) -> None:
    setting = LoadSetting(1024, {"compression.type": codec})
    assert code(BOUND, {"throughput_mib_s": mib_s}, setting=setting, ceilings=CEILINGS) == named


def test_the_codecs_share_is_that_of_the_cpu_time_which_a_busy_machine_leaves_to_the_thread() -> None:
    setting = LoadSetting(1024, {"compression.type": "gzip"})
    found = verdict_on(AT_EASE | BOUND | {"sending_cpu_cores": 0.25, "throughput_mib_s": 6.0}, setting, CEILINGS)
    assert found.code == "cpu"
    assert found.numbers["codec_fraction"] == pytest.approx(0.8)


# As `impact_quick` and `impact` counted them: 6 % of what the load generator makes by itself.
STARVED: dict[str, Value] = {
    "generator_bound": "it hardly waited",
    "sending_cpu_cores": 0.34,
    "sending_wait_fraction": 0.12,
    "host_cpu_busy_fraction": 0.98,
    "broker_cpu_cores": 1.05,
}


def test_a_sending_thread_without_a_core_on_a_busy_machine_is_short_of_cpu_not_a_load_generator_limit() -> None:
    found = verdict_on(AT_EASE | STARVED, SETTING, CEILINGS)
    assert found.code == "cpu"
    assert verdict_text(found.code, found.numbers) == (
        "CPU was the bottleneck: the machine's cores were busy 98 % of the time (threshold 80 %; brokers 1.05 cores; "
        "sending threads 0.34 cores)."
    )


def test_a_sending_thread_with_a_dedicated_core_is_the_load_generators_limit_however_busy_the_others_are() -> None:
    assert code(STARVED, {"sending_cpu_cores": 0.87}) == "load_tool"
    assert code(STARVED, {"sending_cpu_cores": 0.87}, setting=LoadSetting(1024, {}, producers=3)) == "cpu"


def test_without_the_threads_cpu_time_the_cores_decide_the_verdict() -> None:
    assert code(STARVED, {"sending_cpu_cores": None, "sending_wait_fraction": None}) == "cpu"
    assert code(STARVED, {"sending_cpu_cores": None, "host_cpu_busy_fraction": 0.5}) == "load_tool"


def test_a_reached_rate_limit_is_the_load_generators_and_a_missed_one_is_none() -> None:
    held = verdict_on(AT_EASE, LoadSetting(1024, {}, rate_limit_records_s=50_500.0))
    assert held.code == "load_tool"
    assert held.numbers == {"throughput_records_s": 50_000.0, "rate_limit_records_s": 50_500.0}
    assert code(setting=LoadSetting(1024, {}, rate_limit_records_s=80_000.0)) == ""


def test_a_producer_that_waits_for_each_answer_is_its_own_limit() -> None:
    waiting = {"sending_wait_fraction": 0.97, "buffer_wait_fraction": 0.0, "in_flight_requests": 0.9}
    found = verdict_on({**AT_EASE, **waiting}, LoadSetting(1024, {}, is_synchronous=True))
    assert found.code == "in_flight"
    assert verdict_text(found.code, found.numbers).startswith(
        "Synchronous sends were the bottleneck: the sending threads (1) spent 97 % of their time waiting for each"
    )
    assert code(waiting) == ""
    some = {**AT_EASE, **waiting, "sending_wait_fraction": 0.3}
    assert verdict_on(some, LoadSetting(1024, {}, is_synchronous=True)).code == ""


def test_a_full_queue_of_librdkafka_is_not_called_buffer_memory() -> None:
    setting = LoadSetting(1024, {"compression.type": "zstd"}, queue_bytes=100 << 20)
    found = verdict_on({**AT_EASE, "buffer_wait_fraction": 0.6}, setting)
    assert verdict_text(found.code, found.numbers).startswith("librdkafka's queue of 100 MiB was the bottleneck")


def test_librdkafka_compresses_behind_its_queue_so_a_sender_that_hardly_waits_is_the_generators_limit() -> None:
    setting = LoadSetting(1024, {"compression.type": "zstd"}, queue_bytes=100 << 20)
    assert code(BOUND, setting=setting) == "load_tool"
    assert code({**BOUND, "buffer_wait_fraction": 0.5}, setting=setting) == "cpu"


def test_requests_in_flight_are_judged_by_the_producers_own_limit_and_number() -> None:
    one = LoadSetting(1024, {"max.in.flight.requests.per.connection": 1})
    assert code({"in_flight_requests": 0.9}, setting=one) == "in_flight"
    assert code({"in_flight_requests": 4.9}, setting=LoadSetting(1024, {}, producers=2)) == ""
