"""Run Kafka's `kafka-producer-perf-test`, each time in a fresh JVM, and parse its output (KIP-1052)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kafka_pareto.drivers.common.jvm_process import LoadProcess
from kafka_pareto.drivers.common.load_tool import (
    ClientMetrics,
    Execution,
    LoadFigures,
    LoadRequest,
    LoadResult,
    client_metrics,
)
from kafka_pareto.errors import BadInputError, LoadToolError
from kafka_pareto.settings import Settings

MAIN_CLASS = "org.apache.kafka.tools.ProducerPerformance"
# Bounded, so that damaged output yields neither infinity nor a number that Python refuses to read.
_COUNT = r"([0-9]{1,18})"
_NUMBER = r"([0-9]{1,18}(?:\.[0-9]{1,18})?|NaN)"
_SUMMARY = re.compile(
    rf"{_COUNT} (steady state )?records sent, {_NUMBER} records/sec \({_NUMBER} MB/sec\), "
    rf"{_NUMBER} ms avg latency, {_NUMBER} ms max latency, "
    rf"{_COUNT} ms 50th, {_COUNT} ms 95th, {_COUNT} ms 99th, {_COUNT} ms 99\.9th\."
)
_METRIC = re.compile(
    rf"(?:producer-metrics:([a-z0-9-]+)|producer-topic-metrics:(byte-total)):\{{.*\}}\s*: (-?{_NUMBER})"
)


class ProducerPerformance:
    """`kafka-producer-perf-test` as a load tool."""

    def __init__(self, bootstrap_servers: str, client_config: Path | None, settings: Settings) -> None:
        self._process = LoadProcess(bootstrap_servers, client_config, settings)

    def run(self, request: LoadRequest, watch: Callable[[], None] | None = None) -> LoadResult:
        """Run one load in a new JVM; refuse timed loads, keys, zeros and several producers, unsupported there."""
        if request.timed is not None or request.keys or request.records < 1:
            raise LoadToolError(
                "kafka_perf_test sends a fixed number of records, without keys; otherwise set load_tool: load_generator"
            )
        if request.made_payload != "random" or request.producers != 1:
            raise LoadToolError(
                "kafka_perf_test sends random letters from one producer; otherwise set load_tool: load_generator"
            )
        return self._process.run(
            MAIN_CLASS,
            perf_test_options(request),
            request,
            watch,
            lambda ended: load_result(parse_perf_output(ended.output), request, ended),
        )


def load_result(output: PerfOutput, request: LoadRequest, ended: Execution) -> LoadResult:
    """Translate the tool's output into the common result of all load tools."""
    measured = output.steady_state if request.warmup_records else output.whole_run
    return LoadResult(
        records_attempted=request.records,
        records_sent=output.whole_run.records_sent,
        figures=measured.figures if measured else None,
        client=output.client,
        wall_s=ended.wall_s,
        client_cpu_s=ended.cpu_s,
        errors=ended.complaint,
    )


def perf_test_options(request: LoadRequest) -> list[str]:
    """List the tool's own options, without its file of producer properties."""
    rate = "-1"
    if (asked := request.throughput_records_s) is not None:
        if asked < 1:
            raise BadInputError(
                f"kafka_perf_test sends at least 1 record/s, not {asked:.3g} records/s of {request.record_size_bytes} "
                "bytes: raise protocol.throughput_limit_mib_s or cluster.ceiling_mib_s, or exclude this record size"
            )
        rate = str(math.floor(asked))  # rounded down, since it may be a ceiling
    options = ["--topic", request.topic, "--num-records", str(request.records)]
    if request.payload_file is None:
        options += ["--record-size", str(request.record_size_bytes)]
    else:
        options += ["--payload-file", str(request.payload_file)]
    options += ["--throughput", rate, "--print-metrics"]
    if request.warmup_records:
        options += ["--warmup-records", str(request.warmup_records)]
    return options


@dataclass(frozen=True)
class PerfSummary:
    """One summary line. The tool counts only successful sends; its `MB/sec` are MiB/s, rounded to 0.01.

    `figures` is None for the line the tool prints, with exit code 0, if every send failed.
    """

    records_sent: int
    figures: LoadFigures | None


@dataclass(frozen=True)
class PerfOutput:
    """Everything read from one execution; `steady_state` only if warm-up records were requested."""

    whole_run: PerfSummary
    steady_state: PerfSummary | None
    client: ClientMetrics


def parse_perf_output(text: str) -> PerfOutput:
    """Parse the tool's standard output; progress windows, notices and metrics are skipped.

    Raises:
        LoadToolError: If there is not exactly one whole-run line and at most one steady-state line, or if their numbers
            contradict each other: the tool was cut off, or runs under a locale with another decimal sign.
    """
    whole_run: list[PerfSummary] = []
    steady_state: list[PerfSummary] = []
    metrics: dict[str, float] = {}
    for line in text.splitlines():
        if match := _SUMMARY.fullmatch(line.strip()):
            (steady_state if match[2] else whole_run).append(_summary(match))
        elif match := _METRIC.fullmatch(line.strip()):
            metrics[match[1] or match[2]] = float(match[3])
    if len(whole_run) != 1 or len(steady_state) > 1:
        ending = next((line[-200:] for line in reversed(text.splitlines()) if line.strip()), "")
        raise LoadToolError(
            "kafka-producer-perf-test's output must have one whole-run line and at most one steady-state line; it has "
            f"{len(whole_run)} and {len(steady_state)}, and ends with {ending!r}"
        )
    return PerfOutput(whole_run[0], steady_state[0] if steady_state else None, client_metrics(metrics))


def _summary(match: re.Match[str]) -> PerfSummary:
    """Parse one summary line; its latencies count from the call of `send()`.

    Raises:
        LoadToolError: If its numbers are inconsistent: a rate of zero, or decreasing percentiles.
    """
    records_sent = int(match[1])
    if not records_sent:
        return PerfSummary(records_sent, None)
    records_s, printed_mib_s, *latencies_ms = (float(number) for number in match.groups()[2:])
    avg, maximum, p50, p95, p99, p999 = latencies_ms
    ascending = [p50, p95, p99, p999, maximum]
    has_nan = any(math.isnan(number) for number in (records_s, printed_mib_s, *latencies_ms))
    if has_nan or records_s <= 0 or ascending != sorted(ascending):
        raise LoadToolError(f"kafka-producer-perf-test's numbers are inconsistent: {match[0]!r}")
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
