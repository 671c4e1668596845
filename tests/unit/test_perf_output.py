"""The parser of the load tool's output, on output recorded from the real tool."""

from __future__ import annotations

import pytest

from kafka_pareto.errors import LoadToolError
from kafka_pareto.perf_output import parse_perf_output
from tests.recorded import FIXTURES

pytestmark = pytest.mark.fast


def recorded(name: str) -> str:
    return (FIXTURES / "perf_output" / name).read_text()


def test_reads_every_figure_of_the_summary_line():
    summary = parse_perf_output(recorded("4.3.1_plain.txt")).whole_run

    assert (summary.records_sent, summary.throughput_records_s, summary.throughput_mib_s) == (1000, 1098.901099, 8.59)
    assert (summary.latency_avg_ms, summary.latency_max_ms) == (438.38, 558.0)
    assert (summary.latency_p50_ms, summary.latency_p95_ms) == (447, 547)
    assert (summary.latency_p99_ms, summary.latency_p999_ms) == (555, 558)
    assert summary.measured_something


def test_tells_the_steady_state_line_from_the_whole_run_and_passes_over_progress_windows():
    output = parse_perf_output(recorded("4.3.1_warmup_windows_metrics.txt"))

    assert (output.whole_run.records_sent, output.whole_run.latency_max_ms) == (60000, 350.0)
    assert output.steady_state is not None
    assert (output.steady_state.records_sent, output.steady_state.latency_max_ms) == (40000, 18.0)
    assert output.client.produce_throttle_max_ms == 0.0


def test_a_run_in_which_every_send_failed_measured_nothing_though_the_tool_ended_with_0():
    summary = parse_perf_output(recorded("4.3.1_every_send_failed.txt")).whole_run

    assert summary.latency_p95_ms == 0
    assert not summary.measured_something


@pytest.mark.parametrize(
    "text",
    [
        "",
        recorded("4.3.1_plain.txt")[:100],
        recorded("4.3.1_plain.txt").replace(".", ","),
        recorded("4.3.1_plain.txt") * 2,
        recorded("4.3.1_every_send_failed.stderr.txt"),
    ],
    ids=["empty", "cut off", "decimal commas", "two runs", "only errors"],
)
def test_output_that_is_not_one_whole_run_is_an_error_and_never_a_zero(text: str):
    with pytest.raises(LoadToolError, match="whole-run"):
        parse_perf_output(text)
