"""A study that loses a broker in each repetition: it is back before the next, and every record is accounted for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.system.steps import StepRunner

pytestmark = [pytest.mark.brokers, pytest.mark.long]

STUDY: dict[str, Any] = {
    "schema_version": 1,
    "name": "lost",
    "description": "A broker is killed in every repetition; the numbers mean nothing.",
    "testbed": {"brokers": 3, "heap_mib": 256},
    "record_sizes_bytes": [1024],
    "factors": {"linger.ms": {"type": "integer", "levels": [0, 20]}},
    "workload": {"faults": ["leader_killed"], "fault_times": {"at_s": 3, "for_s": 3}},
    "protocol": {
        "kind": "steady",
        "warmup_seconds": 1,
        "seconds": 12,
        "throughput_limit_mib_s": 1,
        "repetitions": 2,
        "minimum_valid_repetitions": 2,
        "cool_down_s": 0,
    },
    "design": {"configurations": 1},
    "confirmation": {"points": 1, "choice_blocks": 2, "gain_blocks": 5, "minimum_blocks": 5},
    # On a busy machine a repetition that cannot be believed is no reason to stop.
    "validation": {"tolerated_rejected_fraction": 0.4},
}


def test_every_repetition_feels_the_loss_and_loses_no_record(tmp_path: Path) -> None:
    steps = StepRunner(tmp_path)
    (steps.studies / "lost.yaml").write_text(yaml.safe_dump(STUDY))

    steps.manifest("design", "lost")
    steps.manifest("measure", "lost", "--case", "1024", timeout_s=500)
    measured = steps.campaign("lost").read_measurements(["1024"], [0])

    assert len(measured) == 4
    assert {each.outcome for each in measured} == {"valid"}
    for each in measured:
        found = each.quantities
        assert found["end_offset_growth"] == found["records_sent"]
        assert float(found["latency_max_ms"] or 0) > 1000  # a killed broker's leaders are missed for some seconds
