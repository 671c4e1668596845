"""The parser of the output of Kafka's load generator, on recorded output of three releases."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_pareto.drivers.common.load_tool import ClientMetrics, LoadFigures
from kafka_pareto.drivers.common.producer_performance import parse_perf_output
from kafka_pareto.errors import LoadToolError
from tests.damage import damaged
from tests.recorded import FIXTURES

pytestmark = pytest.mark.fast

RECORDED = {path.stem: path.read_text() for path in sorted((FIXTURES / "perf_output").glob("*.txt"))}
# What is recorded, by the part of the name behind the release: records sent, of them in steady state; or None where
# the output has to be refused.
EXPECTED: dict[str, tuple[int, int | None] | None] = {
    "plain": (1000, None),
    "metrics": (1000, None),
    "windows": (700, None),
    "warmup": (1000, 800),
    "warmup_windows_metrics": (60000, 40000),
    "warmup_unknown": None,
    "deprecated_option": (1000, None),
    "every_send_failed": (0, None),
    "every_send_failed.stderr": None,
    "german_locale": None,
    "truncated": None,
    "truncated_in_metrics": (1000, None),
}


def test_reads_every_figure_of_the_summary_line():
    summary = parse_perf_output(RECORDED["4.3.1_plain"]).whole_run

    assert summary.records_sent == 1000
    assert summary.figures == LoadFigures(
        throughput_records_s=1098.901099,
        printed_mib_s=8.59,
        latency_avg_ms=438.38,
        latency_max_ms=558.0,
        latency_p50_ms=447.0,
        latency_p95_ms=547.0,
        latency_p99_ms=555.0,
        latency_p999_ms=558.0,
        latency_from_send_p95_ms=547.0,
    )


@pytest.mark.parametrize("name", [name for name in RECORDED if name.partition("_")[2] in EXPECTED])
def test_each_recorded_output_is_read_or_refused_as_its_name_says(name: str):
    expected = EXPECTED[name.partition("_")[2]]
    if expected is None:
        with pytest.raises(LoadToolError, match="whole-run"):
            parse_perf_output(RECORDED[name])
        return
    output = parse_perf_output(RECORDED[name])

    steady = output.steady_state
    assert (output.whole_run.records_sent, steady.records_sent if steady else None) == expected
    assert (output.whole_run.figures is not None) == (expected[0] > 0)


def test_every_recorded_output_has_an_expectation():
    kinds = {name.partition("_")[2] for name in RECORDED}
    assert kinds == EXPECTED.keys() | {"some_sends_failed", "stderr_mixed_in"}


@pytest.mark.parametrize("kind", ["some_sends_failed", "stderr_mixed_in"])
def test_failed_sends_only_lower_the_count_of_records_sent_whatever_is_said_between_the_lines(kind: str):
    outputs = [text for name, text in RECORDED.items() if kind in name]
    assert outputs
    for text in outputs:
        assert 0 < parse_perf_output(text).whole_run.records_sent < 1000
        assert kind != "stderr_mixed_in" or "RecordTooLargeException" in text


@pytest.mark.parametrize("release", ["4.1.2", "4.2.1", "4.3.1"])
def test_every_client_metric_is_found_in_each_release(release: str):
    client = parse_perf_output(RECORDED[f"{release}_metrics"]).client

    unknown = [name for name, value in vars(client).items() if value is None]
    assert unknown == ["answer_wait_s"], "the tool never waits for an answer"
    assert client.batch_size_avg_bytes is not None
    assert client.batch_size_avg_bytes > 1024
    assert client.stored_bytes_per_record == pytest.approx(1037.1, abs=0.1)
    assert client.records_per_request_avg is not None
    assert client.requests_per_thousand_records == pytest.approx(1000 / client.records_per_request_avg)


def test_a_run_without_metrics_knows_none():
    assert parse_perf_output(RECORDED["4.3.1_plain"]).client == ClientMetrics()


@pytest.mark.parametrize(
    "text",
    ["", RECORDED["4.3.1_plain"].replace(".", ","), RECORDED["4.3.1_plain"] * 2],
    ids=["empty", "decimal commas", "two runs"],
)
def test_incomplete_output_is_an_error_and_never_a_zero(text: str):
    with pytest.raises(LoadToolError, match="whole-run"):
        parse_perf_output(text)


@pytest.mark.parametrize(
    ("figure", "instead"),
    [("1098.901099 records", "NaN records"), ("1098.901099 records", "0.000000 records"), ("547 ms 95th", "0 ms 95th")],
)
def test_numbers_that_contradict_each_other_are_refused(figure: str, instead: str):
    with pytest.raises(LoadToolError, match="are inconsistent"):
        parse_perf_output(RECORDED["4.3.1_plain"].replace(figure, instead))


@pytest.mark.slow
@settings(max_examples=150, derandomize=True, deadline=None)
@given(st.sampled_from(list(RECORDED.values())).flatmap(damaged) | st.text())
def test_whatever_the_output_it_is_read_or_refused_and_never_a_silent_zero(text: str):
    try:
        output = parse_perf_output(text)
    except LoadToolError:
        return
    for summary in (output.whole_run, output.steady_state):
        if summary is not None and summary.records_sent:
            assert summary.figures is not None
            assert all(number is None or math.isfinite(number) for number in vars(summary.figures).values())
            assert summary.figures.throughput_records_s > 0
    assert all(value is None or math.isfinite(value) for value in vars(output.client).values())
