from __future__ import annotations

import logging
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_pareto.analysis.noise_study import noise_lines
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.candidates import candidates_of
from kafka_pareto.campaign.design_table import design_table
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import NoiseReport
from kafka_pareto.campaign.tables import DESIGN_COLUMNS
from kafka_pareto.drivers.common.load_tool import LoadRequest, LoadResult
from kafka_pareto.drivers.producer.runner import ProducerRunner
from kafka_pareto.drivers.producer.sizing import sent_bytes
from kafka_pareto.measurement.racing import planned_candidates
from kafka_pareto.steps import measure
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.sections import ForeignCluster
from kafka_pareto.study.study_file import parse_study
from tests.fakes import FakeLoadTool, fake_testbed
from tests.small_quick import small_quick

pytestmark = [pytest.mark.fast, pytest.mark.slow]

CASE = "8192"
CONFIGURATIONS = 12
BURST = {"kind": "cold_burst", "records": 1000, "repetitions": 4, "minimum_valid_repetitions": 2}
ADAPTIVE = BURST | {"adaptive": {"minimum_repetitions": 2, "interval_fraction": 0.05}}


def started(folder: Path, protocol: dict[str, Any], **changes: Any) -> Campaign:
    content = small_quick()
    content |= {"record_sizes_bytes": [int(CASE)], "protocol": protocol, "design": {"configurations": CONFIGURATIONS}}
    content["confirmation"] |= {"gain_blocks": 10}
    study = parse_study(yaml.safe_dump(content | changes), "phases")
    campaign = Campaign(study, CampaignKeys(study.name, "c1"), FolderStore(folder))
    campaign.write_table(campaign.keys.design(), design_table(study), DESIGN_COLUMNS)
    return campaign


def measured_ids(campaign: Campaign) -> list[str]:
    found = campaign.read_repetitions(campaign.keys.measurements(CASE))
    return [repetition.repetition_id for repetition in found]


def test_the_baseline_is_measured_against_itself_before_the_design(tmp_path: Path):
    campaign = started(tmp_path, BURST | {"noise_repetitions": 6})
    with fake_testbed(campaign, CASE) as testbed:
        manifest = measure.run(campaign, CASE, ProducerRunner(campaign, CASE, testbed))
    noise = campaign.read_repetitions(campaign.keys.noise_repetitions(CASE))
    design = campaign.read_repetitions(campaign.keys.measurements(CASE))

    assert [repetition.repetition_id for repetition in noise] == [
        f"noise-r00-{CASE}-b{block:03d}-{campaign.study.baseline_id()}" for block in range(6)
    ]
    assert max(r.started_at for r in noise) < min(r.started_at for r in design)
    assert manifest.counts["noise_repetitions"] == 6
    assert manifest.counts["repetitions"] == len(design) == (CONFIGURATIONS + 1) * 4


def test_the_noise_report_is_kept_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    campaign = started(tmp_path, BURST | {"noise_repetitions": 6})
    with caplog.at_level(logging.INFO), fake_testbed(campaign, CASE) as testbed:
        measure.run(campaign, CASE, ProducerRunner(campaign, CASE, testbed))
    report = campaign.read_record(campaign.keys.noise(CASE), NoiseReport)

    assert report.repetitions == 6
    assert report.comparisons == 4 * 1
    assert all(noise.value and noise.noise_floor_fraction for noise in report.objectives)
    assert all(line in caplog.text for line in noise_lines(report, campaign.study.protocol.variability))


def test_without_noise_repetitions_there_is_no_report(tmp_path: Path):
    campaign = started(tmp_path, BURST)
    with fake_testbed(campaign, CASE) as testbed:
        manifest = measure.run(campaign, CASE, ProducerRunner(campaign, CASE, testbed))

    assert campaign.store.keys(f"{campaign.keys.prefix}/round=00/02_noise") == []
    assert manifest.counts["noise_repetitions"] == 0


def test_adaptive_repetitions_end_for_some_between_the_minimum_and_the_maximum(tmp_path: Path):
    campaign = started(tmp_path, ADAPTIVE)
    with fake_testbed(campaign, CASE) as testbed:
        measure.run(campaign, CASE, ProducerRunner(campaign, CASE, testbed))
    found = campaign.read_repetitions(campaign.keys.measurements(CASE))
    blocks = {r.configuration_id: 0 for r in found}
    for repetition in found:
        blocks[repetition.configuration_id] += 1

    assert len(blocks) == CONFIGURATIONS + 1
    assert min(blocks.values()) == 2
    assert blocks[campaign.study.baseline_id()] == max(blocks.values())
    assert len(found) < (CONFIGURATIONS + 1) * 4


def test_the_log_counts_adaptive_repetitions_through_all_blocks_towards_the_most_that_there_may_be(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    campaign = started(tmp_path, ADAPTIVE)
    with caplog.at_level(logging.INFO), fake_testbed(campaign, CASE) as testbed:
        measure.run(campaign, CASE, ProducerRunner(campaign, CASE, testbed))
    measured = len(measured_ids(campaign))
    said = re.findall(r"\[(\d+) of at most (\d+), at most about \d+ s left\]", caplog.text)

    assert said == [(str(number), str((CONFIGURATIONS + 1) * 4)) for number in range(1, measured + 1)]


def test_adaptive_repetitions_are_decided_without_reading_them_from_the_store_again(tmp_path: Path):
    campaign, read = started(tmp_path, ADAPTIVE), []
    get = campaign.store.get
    campaign.store.get = lambda key: read.append(key) or get(key)  # type: ignore[method-assign]
    with fake_testbed(campaign, CASE) as testbed:
        measure.run(campaign, CASE, ProducerRunner(campaign, CASE, testbed))

    assert not [key for key in read if key.startswith(campaign.keys.measurements(CASE))]


def test_the_log_says_how_many_repetitions_failed_for_implausible_values(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    campaign = started(tmp_path, BURST, validation={"tolerated_rejected_fraction": 1.0})
    with caplog.at_level(logging.INFO), fake_testbed(campaign, CASE) as testbed:
        assert isinstance(testbed.load_tool, FakeLoadTool)
        requests = testbed.load_tool.requests

        def print_nonsense_twice(result: LoadResult) -> LoadResult:
            if len(requests) > 2 or result.figures is None:
                return result
            return replace(result, figures=replace(result.figures, latency_p95_ms=1e6))

        testbed.load_tool.after_run = print_nonsense_twice
        manifest = measure.run(campaign, CASE, ProducerRunner(campaign, CASE, testbed))

    planned = (CONFIGURATIONS + 1) * 4
    assert manifest.counts["repetitions_failed"] == 2
    assert f"2 of {planned} repetitions failed because of implausible values" in caplog.text


def test_a_killed_task_resumes_with_the_same_trials_as_an_uninterrupted_one(tmp_path: Path):
    undisturbed, killed = started(tmp_path / "a", ADAPTIVE), started(tmp_path / "b", ADAPTIVE)
    with fake_testbed(undisturbed, CASE) as testbed:
        measure.run(undisturbed, CASE, ProducerRunner(undisturbed, CASE, testbed))
    for survives in (5, 14, 6):
        with fake_testbed(killed, CASE) as testbed:
            assert isinstance(testbed.load_tool, FakeLoadTool)
            testbed.load_tool.before_run = dies_after(testbed.load_tool, survives)
            with pytest.raises(KeyboardInterrupt):
                measure.run(killed, CASE, ProducerRunner(killed, CASE, testbed))
    with fake_testbed(killed, CASE) as testbed:
        measure.run(killed, CASE, ProducerRunner(killed, CASE, testbed))

    candidates = candidates_of(killed.read_table(killed.keys.design(), DESIGN_COLUMNS), killed.study)
    stored = killed.read_repetitions(killed.keys.measurements(CASE))
    planned = planned_candidates(candidates, stored, killed.study)
    assert len(stored) == sum(len(block) for block in planned)
    assert measured_ids(killed) == measured_ids(undisturbed)


def test_a_round_measures_its_own_design_without_another_noise_study_and_counts_for_the_ceiling(tmp_path: Path):
    campaign = started(tmp_path, BURST | {"noise_repetitions": 5}, strategy="rounds", rounds={"configurations": 2})
    design = campaign.read_table(campaign.keys.design(), DESIGN_COLUMNS)
    campaign.write_table(campaign.keys.design(1), design.head(3), DESIGN_COLUMNS)
    with fake_testbed(campaign, CASE) as testbed:
        measure.run(campaign, CASE, ProducerRunner(campaign, CASE, testbed))
        noise = campaign.store.keys(campaign.keys.noise_repetitions(CASE))
        manifest = measure.run(campaign, CASE, ProducerRunner(campaign, CASE, testbed), 1)
    measured = campaign.read_repetitions(campaign.keys.measurements(CASE, 1))

    assert {r.repetition_id for r in measured} == {
        f"design-r01-{CASE}-b{block:03d}-{name}" for block in range(4) for name in design.configuration_id.head(3)
    }
    assert manifest.counts["repetitions"] == len(measured) == 3 * 4
    assert campaign.store.keys(campaign.keys.noise_repetitions(CASE)) == noise
    cluster = ForeignCluster(bootstrap_servers="b:9092", ceiling_mib_s=4.0, ceiling_gib=9.0)
    theirs = replace(campaign, study=campaign.study.model_copy(update={"cluster": cluster}))
    assert sent_bytes(theirs) == (5 + (CONFIGURATIONS + 1) * 4 + 3 * 4) * 1000 * int(CASE)


def dies_after(tool: FakeLoadTool, loads: int) -> Any:
    def die(_: LoadRequest) -> None:
        if len(tool.requests) > loads:
            raise KeyboardInterrupt

    return die
