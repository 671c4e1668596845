from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.drivers.common.systems import OwnBrokersSystem
from kafka_pareto.drivers.log_pipeline.compare import CompareLogPipeline
from kafka_pareto.drivers.log_pipeline.testbed import replayed_log
from kafka_pareto.errors import BadInputError
from kafka_pareto.steps import design_comparison
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.study_file import parse_study

pytestmark = pytest.mark.fast

STUDY = """
schema_version: 1
kind: compare
driver: log_pipeline
name: replayed
description: Of a test.
reference: {workload: replay}
replay: {file: my.log, times: 2}
tables: [{factor: log_lines, levels: [multi, single]}]
protocol: {repetitions: 3, seconds: 10, steady_from_s: 2}
"""


def log_of(seconds: int) -> str:
    return "\n".join(json.dumps({"time": second, "uri": f"/{second}"}) for second in range(seconds))


def designed(folder: Path, text: str) -> Campaign:
    study = parse_study(STUDY, "replayed.yaml")
    assert isinstance(study, CompareLogPipeline)
    system = OwnBrokersSystem(study.own_brokers, 100)
    manifest = design_comparison.run(FolderStore(folder), study, "c1", system, corpus=text)
    campaign = Campaign.open(FolderStore(folder), study.name, "c1")
    assert campaign.keys.payload() in manifest.artifacts
    return campaign


def test_a_run_sends_what_is_due_within_it_at_the_campaigns_speed_from_the_campaigns_log(tmp_path: Path) -> None:
    campaign = designed(tmp_path, log_of(30))
    assert isinstance(campaign.study, CompareLogPipeline)
    found = replayed_log(campaign, campaign.study, tmp_path / "due.json")

    assert found is not None
    assert found.requests_s == 2.0
    assert json.loads(found.file.read_text())[:3] == [[0, "/0"], [0.5, "/1"], [1, "/2"]]
    designed(tmp_path, log_of(30))
    with pytest.raises(BadInputError, match=r"another text in its replay\.file"):
        designed(tmp_path, log_of(31))
