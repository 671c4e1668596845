"""A comparison of ingestions on the study's own broker, by our tools and common ones."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.system.steps import StepRunner

pytestmark = [pytest.mark.brokers, pytest.mark.long]

ROWS = 2_000
OTHERS = ["kafka_tool", *(["kcat"] if shutil.which("kcat") else [])]
PATHS = ["producer", "batches", *OTHERS]
STUDY: dict[str, Any] = {
    "schema_version": 1,
    "kind": "compare",
    "driver": "ingestion",
    "name": "tiny",
    "description": "Every path to a broker, on one; the numbers mean nothing.",
    "testbed": {"brokers": 1, "heap_mib": 256},
    "workload": {"rows": ROWS, "topic_partitions": 2, "replication_factor": 1, "min_insync_replicas": 1},
    "tables": [{"factor": "path", "levels": PATHS}],
    "protocol": {"repetitions": 3, "cool_down_s": 0, "warmup_rows": 1_000},
    # On a busy machine a repetition that cannot be believed is no reason to stop.
    "validation": {"tolerated_rejected_fraction": 0.4},
}


def test_every_path_sends_the_file_and_reports_its_cost(tmp_path: Path) -> None:
    steps = StepRunner(tmp_path)
    (steps.studies / "tiny.yaml").write_text(yaml.safe_dump(STUDY))

    steps.manifest("design", "tiny")
    assert steps.manifest("measure", "tiny", "--case", "path")["counts"]["repetitions"] == 3 * len(PATHS)
    steps.manifest("validate", "tiny")
    steps.manifest("compare", "tiny")
    reported = steps.run("report", "tiny")
    assert reported.returncode == 0, reported.stdout + reported.stderr

    measured = steps.campaign("tiny").read_measurements(["path"], [0])
    assert {each.configuration["path"] for each in measured if each.outcome == "valid"} == set(PATHS)
    for each in measured:
        found = each.quantities
        if each.outcome == "valid":
            assert (found["rows_acknowledged"], found["end_offset_growth"]) == (ROWS, ROWS)
            assert found["read_back"] == ("not_read" if each.configuration["path"] == "kafka_tool" else "equal")
            assert float(found["rows_s"] or 0) > 0
            own = each.configuration["path"] not in OTHERS
            assert (float(found["cold_rows_s"] or 0) > 0) == own
            assert (each.timeline is not None) == own


def test_a_client_that_encodes_slowly_is_named_as_the_limit(tmp_path: Path) -> None:
    """The planted fault: the Java of the ingestion, and no other one, only interprets its code."""
    java = tmp_path / "java"
    java.write_text(
        '#!/bin/sh\ncase "$*" in *io.kafkapareto.ingest.Ingestion\\ *) exec java -Xint "$@" ;; esac\nexec java "$@"\n'
    )
    java.chmod(0o700)
    steps = StepRunner(tmp_path)
    steps.environment["KAFKA_PARETO_JAVA"] = str(java)
    tables = [{"factor": "encoding", "levels": ["avro", "bytes"]}]
    without = {"workload": STUDY["workload"] | {"rows": 6_000}, "protocol": STUDY["protocol"] | {"warmup_rows": 0}}
    content = STUDY | {"tables": tables} | without
    (steps.studies / "tiny.yaml").write_text(yaml.safe_dump(content))

    steps.manifest("design", "tiny")
    steps.manifest("measure", "tiny", "--case", "encoding")

    valid = [each for each in steps.campaign("tiny").read_measurements(["encoding"], [0]) if each.outcome == "valid"]
    slow = [each for each in valid if each.quantities["limited_by"] == "load_tool"]
    assert len(slow) > len(valid) / 2
    for each in slow:
        assert str(each.quantities["generator_bound"]).startswith("the reading thread was the bottleneck")
    # While a broker that has just started compiles, both cores may be busy, and that is the limit.
    assert {each.quantities["limited_by"] for each in valid} <= {"load_tool", "cpu"}
