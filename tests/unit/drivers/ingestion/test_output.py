"""Strict parsing of an ingestion's output, and sums over its processes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka_pareto.drivers.common.load_tool import read_last_line
from kafka_pareto.drivers.ingestion.load import (
    CheckRequest,
    IngestionLoad,
    IngestionRequest,
    most_row_bytes,
)
from kafka_pareto.drivers.ingestion.output import IngestionOutput
from kafka_pareto.drivers.ingestion.quantities import IngestionFigures
from kafka_pareto.drivers.ingestion.sent import sent_by
from kafka_pareto.errors import LoadToolError
from kafka_pareto.settings import Settings

pytestmark = [pytest.mark.fast, pytest.mark.slow]

PRINTED: dict[str, Any] = {
    "failure": None,
    "rows_read": 101,
    "rows_skipped": 0,
    "rows_acknowledged": 100,
    "rows_malformed": 1,
    "resumptions": 0,
    "bytes_acknowledged": 100 << 20,
    "malformed": {"quote": 1},
    "is_file_at_fault": False,
    "first_malformed": "line 7",
    "began_at_s": 1000.0,
    "ended_at_s": 1002.0,
    "elapsed_s": 2.5,
    "jvm_start_s": 0.4,
    "cpu_s": 1.0,
    "allocated_bytes": 5000,
    "collections": 2,
    "collection_s": 0.1,
    "compilation_s": 0.3,
    "reading_cpu_s": 0.8,
    "partitions": [60, 40],
    "sinks": [
        {
            "sent_bytes": 50 << 20,
            "requests": 4,
            "batch_bytes": 1000,
            "compression_ratio": 0.5,
            "records_per_request": 25,
            "blocked_s": 0.2,
            "retries": 0,
            "throttle_max_ms": 0,
        }
    ],
    "slice_s": 0.25,
    "rows_s_by_slice": [30.0, 50.0],
    "warmup": None,
}


def result(**changes: Any) -> IngestionOutput:
    return read_last_line("progress\n" + json.dumps(PRINTED | changes), IngestionOutput, "the ingestion")


def figures_of(*outputs: IngestionOutput) -> IngestionFigures:
    figures = sent_by(outputs).figures
    assert figures is not None
    return figures


def java(folder: Path, *commands: str) -> IngestionLoad:
    """Return the tool with a shell script in Java's place, and a secret in its client configuration."""
    script, config = folder / "java", folder / "client.properties"
    script.write_text("\n".join(["#!/bin/sh", *commands]))
    script.chmod(0o700)
    config.write_text("ssl.key.password=s3cret\n")
    return IngestionLoad("b:9092", config, Settings(java=str(script), kafka_jars=folder))


def test_one_process_reports_its_own_time_and_the_cost_of_a_row() -> None:
    sent, figures = sent_by([result()]), figures_of(result())

    assert (sent.rows_read, sent.rows_acknowledged, sent.rows_malformed, sent.failure) == (101, 100, 1, "")
    assert (figures.rows_s, figures.values_mib_s, figures.wire_mib_s) == (40, 40, 20)
    assert figures.client_cpu_s_per_million_rows == 1e4
    assert (figures.allocated_bytes_per_row, figures.wire_bytes_per_row) == (50, 20 * 2**20 * 2.5 / 100)


def test_allocations_of_ended_threads_may_be_unknown() -> None:
    assert figures_of(result(), result(allocated_bytes=None)).allocated_bytes_per_row is None


def test_several_processes_count_from_the_first_begin_to_the_last_end() -> None:
    outputs = result(), result(began_at_s=1001.0, ended_at_s=1005.0)
    figures = figures_of(*outputs)

    assert sent_by(outputs).rows_acknowledged == 200
    assert (figures.elapsed_s, figures.rows_s, figures.requests) == (5.0, 40, 8)


WARMUP = PRINTED | {
    "began_at_s": 990.0,
    "ended_at_s": 995.0,
    "elapsed_s": 5.0,
    "jvm_start_s": 0.2,
    "cpu_s": 6.0,
    "rows_s_by_slice": [5.0, 10.0, 20.0],
}


def test_rows_of_a_warm_up_are_a_quantity_of_their_own_and_in_no_other() -> None:
    warm_output = result(warmup=WARMUP, jvm_start_s=9.9)
    cold, warm = sent_by([result()]), sent_by([warm_output])

    assert cold.figures == replace(figures_of(warm_output), cold_rows_s=None, jvm_start_s=0.4)
    assert (figures_of(warm_output).cold_rows_s, figures_of(warm_output).jvm_start_s) == (20, 0.2)
    assert (warm.rows_acknowledged, warm.warmup_rows) == (100, 0)
    assert warm.process_cpu_s == cold.process_cpu_s + 6.0


def test_rates_by_slice_are_added_over_processes() -> None:
    timeline = sent_by([result(warmup=WARMUP), result(rows_s_by_slice=[1.0], warmup=WARMUP)]).timeline

    assert timeline is not None
    assert timeline.slice_s == 0.25
    assert timeline.series == {"cold_rows_s": [10.0, 20.0, 40.0], "rows_s": [31.0, 50.0]}


@pytest.mark.parametrize(
    ("paces", "found"), [([40.0, 60.0, 80.0, 100.0], 1.8), ([50.0, 7.0, 50.0], 1.0), ([50.0], None), ([], None)]
)
def test_a_rate_that_has_settled_is_the_same_in_both_halves(paces: list[float], found: float | None) -> None:
    assert figures_of(result(rows_s_by_slice=paces)).late_over_early == found


def test_the_failure_of_one_process_is_that_of_all() -> None:
    assert sent_by([result(), result(failure="TimeoutException: no", rows_read=500)]).failure == "TimeoutException: no"


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"partitions": [60, 41]}, "must add up to the acknowledged rows"),
        ({"malformed": {}}, "the counts of malformed rows by reason must add up"),
        ({"rows_read": 102}, "must add up to the rows read"),
        ({"elapsed_s": -1}, "elapsed_s"),
    ],
)
def test_numbers_that_do_not_add_up_are_refused(changes: dict[str, Any], rule: str) -> None:
    with pytest.raises(LoadToolError, match=rule):
        result(**changes)


def test_a_failure_that_contains_a_secret_is_shown_without_it(tmp_path: Path) -> None:
    printed = json.dumps(PRINTED | {"failure": "SaslAuthenticationException: s3cret is wrong", "rows_read": 500})
    tool = java(tmp_path, f"echo '{printed}'")

    output = tool.follow(IngestionRequest(tmp_path / "rows.csv", "t", {}, timeout_s=10.0))

    assert output.failure == "SaslAuthenticationException: [hidden] is wrong"


def test_a_long_ingestions_progress_is_one_line_that_is_rewritten(tmp_path: Path) -> None:
    lines = 'for line in 1 2 3 4 5; do echo "line $line" > "$progress"; sleep 0.5; done'
    tool = java(tmp_path, "for progress; do :; done", lines, f"echo '{json.dumps(PRINTED)}'")
    said: list[str] = []

    output = tool.follow(IngestionRequest(tmp_path / "rows.csv", "t", {}, timeout_s=30.0), said.append)

    assert output.rows_acknowledged == PRINTED["rows_acknowledged"]
    assert said
    assert set(said) <= {f"line {number}" for number in range(1, 6)}


def test_tool_and_check_have_one_limit_for_a_row() -> None:
    small = {"max.request.size": 5000, "buffer.memory": 1 << 20}
    tool = IngestionRequest(Path("rows.csv"), "t", small, timeout_s=1.0).options
    check = CheckRequest(1.0, most_row_bytes=most_row_bytes(small)).options

    for options in (tool, check):
        assert options[options.index("--most-row-bytes") + 1] == "4872"
    assert most_row_bytes(small | {"buffer.memory": 1000}) == 872
