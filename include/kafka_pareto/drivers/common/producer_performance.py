"""Runs Kafka's own load tool, `kafka-producer-perf-test`: one fresh JVM for each repetition."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from kafka_pareto.drivers.common.jvm_process import LoadProcess
from kafka_pareto.drivers.common.load_tool import Execution, LoadRequest, LoadResult
from kafka_pareto.drivers.common.producer_performance_output import PerfOutput, parse_perf_output
from kafka_pareto.errors import BadInputError, LoadToolError
from kafka_pareto.settings import Settings

MAIN_CLASS = "org.apache.kafka.tools.ProducerPerformance"


class ProducerPerformance:
    """Runs `kafka-producer-perf-test` as a load tool."""

    def __init__(self, bootstrap_servers: str, client_config: Path | None, settings: Settings) -> None:
        self._process = LoadProcess(bootstrap_servers, client_config, settings)

    def run(self, request: LoadRequest, watch: Callable[[], None] | None = None) -> LoadResult:
        """Runs one load in a new JVM; refuses what Kafka's tool does not know: timed loads, keys, zeros, producers."""
        if request.timed is not None or request.keys or request.records < 1:
            raise LoadToolError(
                "Kafka's load tool sends a number of records, without keys; the load generator does more"
            )
        if request.made_payload != "random" or request.producers != 1:
            raise LoadToolError("Kafka's load tool sends random letters by one producer; the load generator does more")
        return self._process.run(
            MAIN_CLASS,
            perf_test_options(request),
            request,
            watch,
            lambda ended: load_result(parse_perf_output(ended.output), request, ended),
        )


def load_result(output: PerfOutput, request: LoadRequest, ended: Execution) -> LoadResult:
    """Translates what the tool printed into the result that all load tools share."""
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
    """Lists the tool's own options, without its file of producer properties."""
    rate = "-1" if request.throughput_records_s is None else str(_whole_rate(request))
    options = ["--topic", request.topic, "--num-records", str(request.records)]
    if request.payload_file is None:
        options += ["--record-size", str(request.record_size_bytes)]
    else:
        options += ["--payload-file", str(request.payload_file)]
    options += ["--throughput", rate, "--print-metrics"]
    if request.warmup_records:
        options += ["--warmup-records", str(request.warmup_records)]
    return options


def _whole_rate(request: LoadRequest) -> int:
    """Returns the tool's `--throughput`, a whole number. It is rounded down, since it may be a ceiling."""
    asked = request.throughput_records_s or 0.0
    if asked < 1:
        raise BadInputError(
            f"Kafka's load tool cannot send as little as {asked:.3g} records/s of {request.record_size_bytes} bytes, "
            "only one or more: raise protocol.throughput_limit_mib_s or cluster.ceiling_mib_s, or leave out this size"
        )
    return math.floor(asked)
