"""A comparison of consumers on a broker of the study's own, from its design to its report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_pareto.comparison.records import PartComparison
from tests.system.steps import StepRunner

pytestmark = [pytest.mark.brokers, pytest.mark.long]

RECORDS = 20_000
STUDY: dict[str, Any] = {
    "schema_version": 1,
    "kind": "compare",
    "driver": "consumer",
    "name": "tiny",
    "description": "One consumer and two, on one broker; the numbers mean nothing.",
    "testbed": {"brokers": 1, "heap_mib": 256, "properties": {"group.initial.rebalance.delay.ms": 0}},
    "workload": {"topic_partitions": 2, "replication_factor": 1, "min_insync_replicas": 1, "records": RECORDS},
    "tables": [{"factor": "consumers", "levels": [1, 2]}],
    "protocol": {"repetitions": 3, "warmup_seconds": 0, "live": {"rate_records_s": 500, "seconds": 4}},
    # On a busy machine a repetition that cannot be believed is no reason to stop.
    "validation": {"tolerated_rejected_fraction": 0.4},
}


def test_each_level_reads_every_record_once_and_follows_a_producer(tmp_path: Path) -> None:
    steps = StepRunner(tmp_path)
    (steps.studies / "tiny.yaml").write_text(yaml.safe_dump(STUDY))

    assert steps.manifest("design", "tiny")["cases"] == ["consumers"]
    assert steps.manifest("measure", "tiny", "--case", "consumers")["counts"]["repetitions"] == 6
    steps.manifest("validate", "tiny")
    steps.manifest("compare", "tiny")
    reported = steps.run("report", "tiny")
    assert reported.returncode == 0, reported.stdout + reported.stderr

    campaign = steps.campaign("tiny")
    valid = [each for each in campaign.read_measurements(["consumers"], [0]) if each.outcome == "valid"]
    assert valid
    for each in valid:
        found = each.quantities
        assert (found["records_read"], found["records_lost"], found["records_twice"]) == (RECORDS, 0, 0)
        assert found["group_size"] == each.configuration["consumers"]
        assert float(found["live_rate_records_s"] or 0) > 0
    part = campaign.read_record(campaign.keys.comparison("consumers"), PartComparison)
    assert part.compared == ["read_records_s", "end_to_end_latency_p95_ms"]
    assert "the reference's bottleneck was not examined" in reported.stdout.lower()
