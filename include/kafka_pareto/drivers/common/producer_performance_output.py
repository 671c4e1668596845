"""Parses what Kafka's `kafka-producer-perf-test` prints. See KIP-1052 for the steady-state line."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from kafka_pareto.drivers.common.load_figures import ClientMetrics, LoadFigures
from kafka_pareto.drivers.common.load_tool import client_metrics
from kafka_pareto.errors import LoadToolError

# Bounded, so that damaged output yields neither infinity nor a number that Python refuses to read.
_COUNT = r"([0-9]{1,18})"
_NUMBER = r"([0-9]{1,18}(?:\.[0-9]{1,18})?|NaN)"
_SUMMARY = re.compile(
    rf"{_COUNT} (steady state )?records sent, {_NUMBER} records/sec \({_NUMBER} MB/sec\), "
    rf"{_NUMBER} ms avg latency, {_NUMBER} ms max latency, "
    rf"{_COUNT} ms 50th, {_COUNT} ms 95th, {_COUNT} ms 99th, {_COUNT} ms 99\.9th\."
)
_METRIC = re.compile(rf"producer-metrics:([a-z0-9-]+):\{{.*\}}\s*: (-?{_NUMBER})")


@dataclass(frozen=True)
class PerfSummary:
    """Holds one summary line. The tool counts only sends that succeeded; its `MB/sec` are MiB/s, rounded to 0.01.

    `figures` is None for the line that the tool prints, with exit code 0, when every send failed.
    """

    records_sent: int
    figures: LoadFigures | None


@dataclass(frozen=True)
class PerfOutput:
    """Holds everything read from one execution; `steady_state` only when warm-up records were asked for."""

    whole_run: PerfSummary
    steady_state: PerfSummary | None
    client: ClientMetrics


def parse_perf_output(text: str) -> PerfOutput:
    """Reads the tool's standard output.

    Progress windows, notices and metrics between the summary lines are skipped.

    Raises:
        LoadToolError: If there is not exactly one whole-run line and at most one steady-state line, or if their numbers
            contradict each other. This happens when the tool was cut off, or runs under a locale with another decimal
            sign.
    """
    whole_run: list[PerfSummary] = []
    steady_state: list[PerfSummary] = []
    metrics: dict[str, float] = {}
    for line in text.splitlines():
        if match := _SUMMARY.fullmatch(line.strip()):
            (steady_state if match[2] else whole_run).append(_summary(match))
        elif match := _METRIC.fullmatch(line.strip()):
            metrics[match[1]] = float(match[2])
    if len(whole_run) != 1 or len(steady_state) > 1:
        raise LoadToolError(
            f"the load tool's output holds {len(whole_run)} whole-run and {len(steady_state)} steady-state lines "
            f"where one and at most one are expected; it ends with: {_ending(text)!r}"
        )
    return PerfOutput(whole_run[0], steady_state[0] if steady_state else None, client_metrics(metrics))


def _summary(match: re.Match[str]) -> PerfSummary:
    """Reads one summary line; its latencies are from the call of `send()`.

    Raises:
        LoadToolError: If its numbers cannot belong together: records take time, and percentiles never fall.
    """
    records_sent = int(match[1])
    if not records_sent:
        return PerfSummary(records_sent, None)
    records_s, printed_mib_s, *latencies_ms = (float(number) for number in match.groups()[2:])
    avg, maximum, p50, p95, p99, p999 = latencies_ms
    ladder = [p50, p95, p99, p999, maximum]
    has_nan = any(math.isnan(number) for number in (records_s, printed_mib_s, *latencies_ms))
    if has_nan or records_s <= 0 or ladder != sorted(ladder):
        raise LoadToolError(f"the load tool's numbers do not add up: {match[0]!r}")
    figures = LoadFigures(
        throughput_records_s=records_s,
        printed_mib_s=printed_mib_s,
        latency_avg_ms=avg,
        latency_max_ms=maximum,
        latency_p50_ms=p50,
        latency_p95_ms=p95,
        latency_p99_ms=p99,
        latency_p999_ms=p999,
        latency_from_send_p95_ms=p95,
    )
    return PerfSummary(records_sent, figures)


def _ending(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][-200:] if lines else ""
