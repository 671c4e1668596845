"""The one parser of what Kafka's `kafka-producer-perf-test` prints. See KIP-1052 for the steady-state line."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from kafka_pareto.errors import LoadToolError
from kafka_pareto.load import ClientMetrics, client_metrics

_NUMBER = r"([0-9]+(?:\.[0-9]+)?|NaN)"
_SUMMARY = re.compile(
    rf"(\d+) (steady state )?records sent, {_NUMBER} records/sec \({_NUMBER} MB/sec\), "
    rf"{_NUMBER} ms avg latency, {_NUMBER} ms max latency, "
    r"(\d+) ms 50th, (\d+) ms 95th, (\d+) ms 99th, (\d+) ms 99\.9th\."
)
_METRIC = re.compile(r"producer-metrics:([a-z0-9-]+):\{.*\}\s*: (-?[0-9]+(?:\.[0-9]+)?(?:E-?[0-9]+)?|NaN)")


@dataclass(frozen=True)
class PerfSummary:
    """One summary line. The tool counts only sends that succeeded; its `MB/sec` are MiB/s, rounded to 0.01."""

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
        """False for the line that the tool prints, with exit code 0, when every send failed."""
        numbers = (self.throughput_records_s, self.throughput_mib_s, self.latency_avg_ms, self.latency_max_ms)
        return self.records_sent > 0 and not any(math.isnan(number) for number in numbers)


@dataclass(frozen=True)
class PerfOutput:
    """Everything read from one execution; `steady_state` only when warm-up records were asked for."""

    whole_run: PerfSummary
    steady_state: PerfSummary | None
    client: ClientMetrics


def parse_perf_output(text: str) -> PerfOutput:
    """Reads the tool's standard output.

    Progress windows, notices and metrics between the summary lines are passed over.

    Raises:
        LoadToolError: If there is not exactly one whole-run line and at most one steady-state line, as happens when
            the tool was cut off or runs under a locale with another decimal sign.
    """
    whole_run: list[PerfSummary] = []
    steady_state: list[PerfSummary] = []
    metrics: dict[str, float] = {}
    for line in text.splitlines():
        if match := _SUMMARY.fullmatch(line.strip()):
            summary = PerfSummary(int(match[1]), *(float(number) for number in match.groups()[2:]))
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
