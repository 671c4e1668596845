"""A comparison on the seeded fake cluster: its study, and its steps up to the comparison, without a gate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.tables import rejected_columns
from kafka_pareto.drivers.common.load_tool import LoadRequest
from kafka_pareto.drivers.common.systems import ClusterSystem
from kafka_pareto.drivers.producer.compare import CompareProducer
from kafka_pareto.drivers.producer.runner import ProducerRunner
from kafka_pareto.measurement.limits import MeasuringLimits
from kafka_pareto.steps import design_comparison, measure
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.storage.store import Store
from kafka_pareto.study.overrides import Override
from kafka_pareto.study.study_file import parse_study
from kafka_pareto.validation.gate import rejected_table
from tests.fakes import FakeCluster, FakeLoadTool, fake_testbed

CAMPAIGN = "c1"
BLOCKS = 3
BURST = {"kind": "cold_burst", "records": 1000, "repetitions": BLOCKS, "order": "blocks"}
_LIMITS = MeasuringLimits(recovery_deadline_s=0.5, undisturbed_deadline_s=0.0, look_s=0.01)


def comparison(**changes: Any) -> CompareProducer:
    """A study with a table of the codec, one of the record size, and a grid; some keys replaced."""
    content: dict[str, Any] = {
        "schema_version": 1,
        "kind": "compare",
        "name": "impact_small",
        "description": "What codec, size and batching do on a fake cluster.",
        "reference": {"acks": 1, "batch.size": 65536},
        "tables": [
            {
                "factor": "compression.type",
                "levels": ["none", "lz4"],
                "published": {"throughput_records_s": [1_000_000, 1_200_000]},
            },
            {"factor": "record.size", "levels": [512, 1024, 2048], "fixed": {"payload": "text"}},
        ],
        "grid": {"factors": {"batch.size": [16384, 65536], "linger.ms": [0, 5]}},
        "protocol": BURST,
    }
    study = parse_study(yaml.safe_dump(content | changes, sort_keys=False), "impact_small.yaml")
    assert isinstance(study, CompareProducer)
    return study


def design(store: Store, study: CompareProducer, overrides: tuple[Override, ...] = ()) -> Manifest:
    """Runs the step `design` against the fake cluster."""
    return design_comparison.run(store, study, CAMPAIGN, ClusterSystem(FakeCluster()), overrides)


def designed(folder: Path, study: CompareProducer | None = None) -> Campaign:
    """A comparison whose levels are listed."""
    store, study = FolderStore(folder), study or comparison()
    design(store, study)
    return Campaign.open(store, study.name, CAMPAIGN)


def measured_part(
    campaign: Campaign, case: str, before_run: Callable[[FakeLoadTool, LoadRequest], None] | None = None
) -> list[LoadRequest]:
    """Runs the step `measure` of one part; returns the requests to the load generator."""
    with fake_testbed(campaign, case) as testbed:
        tool = testbed.load_tool
        assert isinstance(tool, FakeLoadTool)
        if before_run is not None:
            tool.before_run = lambda request: before_run(tool, request)
        measure.run(campaign, case, ProducerRunner(campaign, case, testbed, _LIMITS))
    return tool.requests


def measured(folder: Path, study: CompareProducer | None = None) -> Campaign:
    """A comparison with every part measured."""
    campaign = designed(folder, study)
    for case in campaign.study.cases:
        measured_part(campaign, case)
    return campaign


def accept(campaign: Campaign, *rejected: str) -> None:
    """Leaves the gate's table of rejected repetitions, as `validate` does; these ids are in it."""
    repetitions = campaign.read_measurements(campaign.study.cases, [0])
    campaign.write_table(
        campaign.keys.validation("rejected.parquet"),
        rejected_table(repetitions, dict.fromkeys(rejected, "spoilt"), campaign.study),
        rejected_columns(campaign.study.declaration),
    )
