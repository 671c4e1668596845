"""Parses what Kafka's `kafka-producer-perf-test` prints. See KIP-1052 for the steady-state line."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from kafka_pareto.errors import LoadToolError
from kafka_pareto.load.tool import ClientMetrics, client_metrics

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
    """Holds one summary line. The tool counts only sends that succeeded; its `MB/sec` are MiB/s, rounded to 0.01."""

    records_sent: int
    throughput_records_s: float
    throughput_mib_s: float
    latency_avg_ms: float
    latency_max_ms: float
    latency_p50_ms: float
    latency_p95_ms: float
    latency_p99_ms: float
    latency_p999_ms: float

    @property
    def measured_something(self) -> bool:
        """Returns False for the line that the tool prints, with exit code 0, when every send failed."""
        return self.records_sent > 0

    @property
    def adds_up(self) -> bool:
        """Tells whether the numbers can belong together: records take time, and percentiles never fall."""
        if not self.measured_something:
            return True
        numbers = (self.throughput_records_s, self.throughput_mib_s, self.latency_avg_ms, self.latency_max_ms)
        ladder = (self.latency_p50_ms, self.latency_p95_ms, self.latency_p99_ms, self.latency_p999_ms)
        rises = list(ladder) == sorted(ladder) and ladder[-1] <= self.latency_max_ms
        return not any(math.isnan(number) for number in numbers) and self.throughput_records_s > 0 and rises


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
            summary = PerfSummary(int(match[1]), *(float(number) for number in match.groups()[2:]))
            if not summary.adds_up:
                raise LoadToolError(f"the load tool's numbers do not add up: {line.strip()!r}")
            (steady_state if match[2] else whole_run).append(summary)
        elif match := _METRIC.fullmatch(line.strip()):
            metrics[match[1]] = float(match[2])
    if len(whole_run) != 1 or len(steady_state) > 1:
        raise LoadToolError(
            f"the load tool's output holds {len(whole_run)} whole-run and {len(steady_state)} steady-state lines "
            f"where one and at most one are expected; it ends with: {_ending(text)!r}"
        )
    return PerfOutput(whole_run[0], steady_state[0] if steady_state else None, client_metrics(metrics))


def _ending(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][-200:] if lines else ""
