"""The load generator: its options, its output, and the results."""

from __future__ import annotations

import json
import math
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_pareto.campaign.records import TimedLoad
from kafka_pareto.drivers.common.load_tool import Execution, LoadRequest, LoadResult
from kafka_pareto.drivers.producer.load_generator import (
    LoadGenerator,
    generator_options,
    load_result,
    timed_within_limit,
)
from kafka_pareto.errors import BadInputError, LoadMachineError, LoadToolError
from kafka_pareto.settings import Settings
from tests.damage import damaged
from tests.recorded import FIXTURES

pytestmark = pytest.mark.fast

BOTH_PARTS = (FIXTURES / "load_generator" / "both_parts.json").read_text()
SOME_FAILED = (FIXTURES / "load_generator" / "broker_gone.json").read_text()
TIMED = TimedLoad(warmup_s=0.5, seconds=1.0, paced_warmup_s=0.5, paced_seconds=1.0, paced_rate_records_s=500.0)


def result_of(text: str, timed: TimedLoad = TIMED, producers: int = 1) -> LoadResult:
    return load_result(Execution(text, "a complaint", wall_s=3.0, cpu_s=2.0), timed, producers)


def changed(**values: Any) -> str:
    """The recorded output with keys of its rate-limited part replaced."""
    content = json.loads(BOTH_PARTS)
    content["parts"][1] |= values
    return json.dumps(content)


def with_metrics(unthrottled: dict[str, float], paced: dict[str, float]) -> str:
    content = json.loads(BOTH_PARTS)
    for part, metrics in zip(content["parts"], (unthrottled, paced), strict=True):
        part["client_metrics"] |= metrics
    return json.dumps(content)


def request(timed: TimedLoad | None, **others: Any) -> LoadRequest:
    return LoadRequest("load", 1024, {}, timeout_s=10, timed=timed, **others)


def test_throughput_comes_from_the_unthrottled_part_and_latency_from_the_rate_limited_one():
    unthrottled, paced = json.loads(BOTH_PARTS)["parts"]
    result = result_of(BOTH_PARTS)

    figures = result.figures
    assert figures is not None
    assert figures.throughput_records_s == unthrottled["acknowledged"] / unthrottled["elapsed_s"]
    assert figures.latency_p95_ms == paced["latency_us"]["p95"] / 1000
    assert figures.latency_p9999_ms == paced["latency_us"]["p9999"] / 1000
    assert figures.latency_from_send_p95_ms == paced["latency_from_send_us"]["p95"] / 1000
    assert figures.paced_rate_asked_records_s == 500.0
    assert figures.paced_rate_records_s == pytest.approx(500.0, rel=0.05)
    assert result.client.batch_size_avg_bytes == paced["client_metrics"]["batch-size-avg"]
    assert (result.unthrottled_s, result.sending_cpu_s) == (unthrottled["sending_s"], unthrottled["sending_cpu_s"])
    for percentile in ("p50", "p95", "p99", "p999"):
        from_send_us = unthrottled["latency_from_send_us"][percentile]
        assert getattr(figures, f"unthrottled_latency_{percentile}_ms") == from_send_us / 1000


def test_every_record_counts_as_sent_warm_ups_included_whatever_the_process_complained_of():
    parts = json.loads(BOTH_PARTS)["parts"]
    result = result_of(BOTH_PARTS)

    assert result.records_sent == result.records_attempted
    assert result.records_sent == sum(part["warmup_acknowledged"] + part["acknowledged"] for part in parts)
    assert result.errors == "a complaint"


@pytest.mark.parametrize("at", [0, 1])
def test_with_one_part_only_all_figures_come_from_it(at: int):
    part = json.loads(BOTH_PARTS)["parts"][at]
    lengths = {"seconds": 1.0 - at, "paced_seconds": float(at)}
    figures = result_of(json.dumps({"parts": [part]}), TIMED.model_copy(update=lengths)).figures

    assert figures is not None
    assert figures.throughput_records_s == part["acknowledged"] / part["elapsed_s"]
    assert figures.latency_p95_ms == part["latency_us"]["p95"] / 1000
    assert (figures.paced_rate_records_s is None) == (at == 0)
    assert figures.unthrottled_latency_p95_ms is None


def test_made_payloads_several_producers_and_time_to_write_back_are_no_options_of_a_usual_load():
    asked = generator_options(request(TIMED, made_payload="zeros", producers=3), TIMED, settle_s=5.0)
    usual = generator_options(request(TIMED), TIMED)

    for option, value in (("--payload", "zeros"), ("--producers", "3"), ("--settle-seconds", "5.0")):
        assert asked[asked.index(option) + 1] == value
        assert option not in usual


def test_synchronous_sends_are_an_option_and_their_waits_are_no_idleness():
    assert "--synchronous" not in generator_options(request(TIMED), TIMED)
    assert "--synchronous" in generator_options(request(TIMED, sends="synchronous"), TIMED)
    content = json.loads(BOTH_PARTS)
    content["parts"][0]["answer_wait_s"], content["parts"][1]["answer_wait_s"] = 0.9, 0.5
    usual, waited = result_of(BOTH_PARTS), result_of(json.dumps(content))
    assert (usual.client.answer_wait_s, waited.client.answer_wait_s) == (0.0, 0.5)
    assert waited.client.buffer_wait_s == usual.client.buffer_wait_s
    assert waited.unthrottled_wait_s == pytest.approx(usual.unthrottled_wait_s + 0.9)


def test_a_sample_and_its_arrivals_are_options_of_their_own():
    asked = generator_options(
        request(TIMED, payload_file=Path("orders.jsonl"), is_sampled=True, arrival="recorded"), TIMED
    )

    assert asked[asked.index("--sample") + 1] == "orders.jsonl"
    assert asked[-2:] == ["--arrival", "recorded"]
    assert "--payload-file" not in asked


def test_the_waits_of_several_producers_are_those_of_all_their_threads():
    content = json.loads(BOTH_PARTS)
    content["parts"][0] |= {"sending_s": 1.0, "elapsed_s": 1.2}
    content["parts"][0]["client_metrics"]["bufferpool-wait-time-ns-total"] = 0.5e9

    waits_s = [result_of(json.dumps(content), producers=number).unthrottled_wait_s for number in (1, 3)]
    assert waits_s == pytest.approx([0.5 + 0.2, 0.5 + 3 * 0.2])


def test_a_quota_a_retry_and_an_exhausted_buffer_are_seen_in_either_part():
    totals = {"record-retry-total": 3.0, "buffer-exhausted-total": 1.0, "bufferpool-wait-time-ns-total": 2e9}
    throttled = {"produce-throttle-time-max": 40.0}
    client = result_of(with_metrics(totals | throttled, dict.fromkeys(totals, 1.0))).client

    assert client.produce_throttle_max_ms == 40.0
    assert (client.record_retries, client.buffer_exhausted_records) == (4.0, 2.0)
    assert client.buffer_wait_s == 1e-9  # of the part that the latencies are of


@pytest.mark.parametrize("settled", [True, False])
def test_whether_the_write_back_has_settled_is_read_and_how_long_that_took(settled: bool):
    content = json.loads(BOTH_PARTS) | {"write_back": {"waited_s": 0.4, "settled": settled}}
    result = result_of(json.dumps(content))

    assert (result.settling_s, result.is_settled) == (0.4, settled)
    assert (result_of(BOTH_PARTS).settling_s, result_of(BOTH_PARTS).is_settled) == (0.0, True)


def test_records_that_were_due_and_never_sent_are_counted():
    paced = json.loads(BOTH_PARTS)["parts"][1]

    assert result_of(BOTH_PARTS).paced_records_unsent == 0
    assert result_of(changed(planned=paced["attempted"] + 300)).paced_records_unsent == 300


MACHINES = [
    {"address": "a:1", "cores": 2.0, "process_cpu_s": 1.5, "acknowledged": [600, 300]},
    {"address": "b:1", "cores": 0.5, "process_cpu_s": 2.5, "acknowledged": [400, 200]},
]


def test_the_cpu_time_of_load_machines_is_the_clients_but_not_this_machines():
    result = result_of(json.dumps(json.loads(BOTH_PARTS) | {"machines": MACHINES}))

    found = [(each.address, each.cores, each.records) for each in result.machines]
    assert found == [("a:1", 2.0, 600), ("b:1", 0.5, 400)]
    assert result.client_cpu_s == pytest.approx(4.0)
    assert result.cpu_s_here == result_of(BOTH_PARTS).cpu_s_here == result_of(BOTH_PARTS).client_cpu_s


def test_a_lost_or_unfit_load_machine_is_named_with_the_reason():
    with pytest.raises(LoadMachineError, match="load machine a:1: the connection has ended"):
        result_of(json.dumps({"lost_machine": "a:1: the connection has ended"}))
    with pytest.raises(BadInputError, match="load machine a:1: sends to cluster x"):
        result_of(json.dumps({"unfit_machine": "a:1: sends to cluster x"}))


@pytest.mark.parametrize(("spread_ms", "is_refused"), [(2.0, False), (2.01, True)])
def test_load_machines_that_start_too_far_apart_measure_nothing(spread_ms: float, is_refused: bool):
    content = json.loads(BOTH_PARTS) | {"machines": MACHINES}
    content["parts"][1]["start_spread_ms"] = spread_ms
    with pytest.raises(LoadMachineError, match=r"up to 2.01 ms apart") if is_refused else nullcontext():
        result_of(json.dumps(content))


def test_a_load_that_broke_off_measured_nothing_and_says_why():
    result = result_of(SOME_FAILED)

    assert 0 < result.records_sent < result.records_attempted
    assert result.figures is None
    assert "TimeoutException" in result.errors
    assert "record" in result.errors


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "printed nothing"),
        (BOTH_PARTS[:-20], "Invalid JSON"),
        (changed(surprise=1), "surprise"),
        (changed(elapsed_s=math.nan), "elapsed_s"),
        (changed(attempted=1.5), "attempted"),
        (changed(part="unthrottled"), "both in this order"),
        (changed(planned=1), "must not exceed planned"),
        (changed(acknowledged=0), "must add up to those attempted"),
        (changed(window_records=[1]), "windows"),
        (changed(latency_us=None), "latencies"),
        (changed(latency_us=json.loads(BOTH_PARTS)["parts"][1]["latency_us"] | {"p95": 0}), "must not decrease"),
        ('{"parts": []}', "parts"),
    ],
)
def test_output_that_does_not_add_up_is_refused_with_the_reason(text: str, says: str):
    with pytest.raises(LoadToolError, match=says):
        result_of(text)


def test_the_fixed_rate_and_the_unthrottled_part_stay_below_the_requests_ceiling():
    limited = request(TIMED, throughput_records_s=200.0)
    options = generator_options(limited, timed_within_limit(limited))

    assert options[options.index("--max-rate") + 1] == "200.0"
    assert options[options.index("--paced-rate") + 1] == "200.0"


@pytest.mark.parametrize(
    "refused",
    [
        request(None, records=100),
        request(TIMED.model_copy(update={"seconds": 0.0, "paced_seconds": 0.0})),
        request(TIMED.model_copy(update={"paced_rate_records_s": 0.0})),
    ],
    ids=["not timed", "no time", "no rate"],
)
def test_options_the_generator_lacks_are_refused_before_it_starts(refused: LoadRequest):
    nowhere = LoadGenerator("127.0.0.1:1", None, Settings(java="no-such-java", kafka_jars=Path("nowhere")))
    with pytest.raises(LoadToolError, match="load generator"):
        nowhere.run(refused)


@pytest.mark.slow
@settings(max_examples=150, derandomize=True, deadline=None)
@given(st.sampled_from([BOTH_PARTS, SOME_FAILED]).flatmap(damaged) | st.text())
def test_whatever_the_output_it_is_read_or_refused_and_never_a_silent_zero(text: str):
    try:
        result = result_of(text)
    except LoadToolError:
        return
    assert 0 <= result.records_sent <= result.records_attempted
    if result.figures is not None:
        numbers = [value for value in vars(result.figures).values() if value is not None]
        assert all(math.isfinite(number) for number in numbers)
        assert result.figures.throughput_records_s > 0
