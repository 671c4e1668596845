from __future__ import annotations

import csv
import io
import math
import statistics
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kafka_pareto.bottleneck.ceilings import Ceilings
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Plan
from kafka_pareto.campaign.tables import DESIGN_COLUMNS, rejected_columns, repetition_row
from kafka_pareto.campaign.time_left import ExpectedRepetitions, Part
from kafka_pareto.comparison.records import PartComparison
from kafka_pareto.comparison.tables import part_csv
from kafka_pareto.drivers.common.load_tool import LoadRequest
from kafka_pareto.errors import BadInputError, PlanError
from kafka_pareto.steps import compare
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.compare import compare_study
from kafka_pareto.study.overrides import overrides_of, with_overrides
from kafka_pareto.study.sections import ForeignCluster
from kafka_pareto.study.study_file import load_study
from tests.compared import BLOCKS, CAMPAIGN, accept, comparison, design, designed, measured, measured_part
from tests.fakes import FakeLoadTool
from tests.recorded import STUDIES

pytestmark = [pytest.mark.fast, pytest.mark.slow]

LEVELS = {"compression_type": 2, "record_size": 3, "grid": 4}


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """Return a comparison with its results; the gate rejected one repetition."""
    campaign = measured(tmp_path_factory.mktemp("compared"))
    (first, *_) = campaign.read_measurements(["compression_type"], [0])
    accept(campaign, first.repetition_id)
    compare.run(campaign)
    return campaign


def parts_of(campaign: Campaign) -> list[PartComparison]:
    return [campaign.read_record(campaign.keys.comparison(case), PartComparison) for case in campaign.study.cases]


def test_design_freezes_the_study_and_lists_each_parts_levels_with_its_reference(tmp_path: Path) -> None:
    store, study = FolderStore(tmp_path), comparison()
    manifest = design(store, study)
    campaign = Campaign.open(store, study.name, CAMPAIGN)
    levels = campaign.read_table(campaign.keys.design(), DESIGN_COLUMNS)

    assert campaign.study == study
    assert manifest.cases == study.cases
    assert manifest.counts == {"levels": 9, "repetitions_planned": 9 * BLOCKS}
    assert Counter(levels.case.tolist()) == LEVELS
    assert levels.groupby("case").is_baseline.sum().to_dict() == dict.fromkeys(LEVELS, 1)
    assert set(manifest.artifacts) <= set(store.keys(""))


def test_the_plan_names_values_that_override_the_studys_file(tmp_path: Path) -> None:
    store, file = FolderStore(tmp_path), comparison()
    study = with_overrides(file, ["grid"], repetitions=4)
    design(store, study, tuple(overrides_of(file, study)))
    campaign = Campaign.open(store, study.name, CAMPAIGN)
    plan = campaign.read_record(campaign.keys.plan(), Plan)

    assert plan.repetitions == 4 * 4
    assert "protocol.repetitions 4 (file: 3)" in [str(each) for each in plan.overrides]


def test_a_campaign_resumes_only_with_the_same_values(tmp_path: Path) -> None:
    store, study = FolderStore(tmp_path), comparison()
    design(store, study)
    design(store, study)
    for other in (with_overrides(study, seed=7), with_overrides(study, ["grid"]), comparison(reference={"acks": 1})):
        with pytest.raises(BadInputError, match="was started with other values of its study"):
            design(store, other)


def test_a_cluster_in_use_is_compared_on_only_with_consent_and_below_its_ceiling(tmp_path: Path) -> None:
    store, cluster = FolderStore(tmp_path), ForeignCluster(bootstrap_servers="a:9092", ceiling_mib_s=5, ceiling_gib=1)
    with pytest.raises(BadInputError, match="consent"):
        design(store, with_overrides(comparison(), cluster=cluster))
    low = cluster.model_copy(update={"ceiling_gib": 1e-6, "consent": True})
    with pytest.raises(PlanError, match="above the ceiling"):
        design(store, with_overrides(comparison(), cluster=low))
    assert store.keys("") == [], "nothing is frozen before the plan is agreed to"
    design(store, with_overrides(comparison(), cluster=cluster.model_copy(update={"consent": True})))


def test_every_level_is_measured_once_in_each_block_in_an_order_of_the_blocks_own(tmp_path: Path) -> None:
    campaign = designed(tmp_path)
    measured_part(campaign, "grid")
    repetitions = sorted(campaign.read_measurements(["grid"], [0]), key=lambda each: each.started_at)
    blocks = [[each.configuration_id for each in repetitions if each.block == block] for block in range(BLOCKS)]

    assert [each.block for each in repetitions] == sorted(each.block for each in repetitions)
    assert [sorted(block) for block in blocks] == [sorted(blocks[0])] * BLOCKS
    assert len(set(map(tuple, blocks))) > 1
    assert all(campaign.study.baseline_id("grid") in block for block in blocks)


def test_stored_repetitions_are_not_measured_again(tmp_path: Path) -> None:
    campaign = designed(tmp_path)
    assert len(measured_part(campaign, "grid")) == 4 * BLOCKS
    stored = {key: campaign.store.get(key) for key in campaign.store.keys(campaign.keys.measurements("grid"))}

    assert measured_part(campaign, "grid") == []
    assert {key: campaign.store.get(key) for key in stored} == stored


def test_a_killed_part_resumes_with_the_missing_repetitions(tmp_path: Path) -> None:
    def die_at_the_sixth(tool: FakeLoadTool, _: LoadRequest) -> None:
        if len(tool.requests) == 6:
            raise KeyboardInterrupt

    campaign = designed(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        measured_part(campaign, "grid", die_at_the_sixth)
    assert len(campaign.read_measurements(["grid"], [0])) == 5
    assert len(measured_part(campaign, "grid")) == 4 * BLOCKS - 5


def test_each_level_sends_its_own_records_with_its_own_settings(tmp_path: Path) -> None:
    campaign = designed(tmp_path)
    requests = measured_part(campaign, "record_size")

    # A larger record keeps the reference's bytes in all, a smaller one its number of records.
    sent = {request.record_size_bytes: request.records for request in requests}
    assert sent == {512: 1000, 1024: 1000, 2048: 500}
    assert all(request.payload_file is not None for request in requests)
    assert {request.properties["batch.size"] for request in requests} == {65536}
    assert {request.properties["acks"] for request in requests} == {"1"}


def test_there_is_one_record_for_each_part_with_its_levels_in_the_files_order(compared: Campaign) -> None:
    parts = parts_of(compared)
    assert [(part.part, part.kind, len(part.levels)) for part in parts] == [
        ("compression_type", "table", 2),
        ("record_size", "table", 3),
        ("grid", "grid", 4),
    ]
    assert [level.values["record.size"] for level in parts[1].levels] == [512, 1024, 2048]
    assert [part.fixed for part in parts] == [{}, {"payload": "text"}, {}]
    assert [sum(level.is_reference for level in part.levels) for part in parts] == [1, 1, 1]


def test_published_numbers_are_shown_with_their_levels_and_change_no_other_number(compared: Campaign) -> None:
    with_numbers = parts_of(compared)[0]
    assert [level.published for level in with_numbers.levels] == [
        {"throughput_records_s": 1_000_000.0},
        {"throughput_records_s": 1_200_000.0},
    ]
    study = compare_study(compared.study)
    plain = study.model_copy(update={"tables": [each.model_copy(update={"published": {}}) for each in study.tables]})
    rejected = set(_rejected(compared))
    kept = [
        each for each in compared.read_measurements(["compression_type"], [0]) if each.repetition_id not in rejected
    ]
    without = compare.compared_part(plain, "compression_type", kept)
    assert [level.estimates for level in without.levels] == [level.estimates for level in with_numbers.levels]


def test_a_prediction_that_has_no_bound_survives_being_stored(
    compared: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = compare_study(compared.study)
    monkeypatch.setattr(type(study), "predicted", lambda *_: {"latency_p95_ms": math.inf, "latency_p99_ms": 2.0})

    for part in compare.with_predictions(study, parts_of(compared)):
        stored = PartComparison.model_validate_json(part.model_dump_json())
        assert all(level.predicted == {"latency_p95_ms": None, "latency_p99_ms": 2.0} for level in stored.levels)


def test_quarantined_repetitions_affect_no_number(compared: Campaign) -> None:
    (rejected,) = _rejected(compared)
    levels = parts_of(compared)[0].levels
    assert all(rejected not in level.repetition_ids for level in levels)
    assert sorted(len(level.repetition_ids) for level in levels) == [BLOCKS - 1, BLOCKS]


def test_every_number_of_a_csv_follows_from_the_repetitions_that_it_names(compared: Campaign) -> None:
    study, checked = compare_study(compared.study), 0
    for part in parts_of(compared):
        repetitions = compared.read_measurements([part.part], [0])
        values = {
            each.repetition_id: {**(row := repetition_row(each)), **study.derived_quantities(row)}
            for each in repetitions
        }
        for row in csv.DictReader(io.StringIO(part_csv(part))):
            if not row["mean"]:
                continue
            named = [values[name] for name in row["repetition_ids"].split()]
            assert {each["configuration_id"] for each in named} == {row["configuration_id"]}
            numbers = [float(each[row["quantity"]]) for each in named if each[row["quantity"]] is not None]
            assert int(row["repetitions"]) == len(numbers)
            assert float(row["mean"]) == pytest.approx(statistics.mean(numbers))
            if row["sd"]:
                assert float(row["sd"]) == pytest.approx(statistics.stdev(numbers), abs=1e-9)
            checked += 1
    assert checked > 9 * 5


def test_the_repetitions_to_come_are_every_level_of_every_part_once_in_a_block(compared: Campaign) -> None:
    plan = compared.read_record(compared.keys.plan(), Plan)
    expected = ExpectedRepetitions(compared.study, plan, Counter(LEVELS))
    begun = [Part("grid", 0, (datetime(2026, 11, 27, tzinfo=UTC),) * 5, ended=False)]
    assert expected.most([], {}) == expected.likely([], {}) == expected.likely(begun, {}) == 9 * BLOCKS
    assert {case: expected.most_of(Part(case, 0, (), ended=False)) for case in LEVELS} == {
        case: count * BLOCKS for case, count in LEVELS.items()
    }


def _rejected(campaign: Campaign) -> list[str]:
    columns = rejected_columns(campaign.study.declaration)
    found: list[str] = campaign.read_table(campaign.keys.validation("rejected.parquet"), columns).repetition_id.tolist()
    return found


def test_compare_names_limits_by_numbers_and_relates_levels_to_the_machines_ceilings(tmp_path: Path) -> None:
    campaign = measured(tmp_path)
    accept(campaign)
    ceilings = Ceilings(
        record_size_bytes=1024, batch_size_bytes=16384, loopback_mib_s=1.0e6, disk_write_mib_s=None,
        generator_records_s=1.0e9,
    )  # fmt: skip
    campaign.write_record(campaign.keys.ceilings(), ceilings)
    compare.run(campaign)
    levels = [level for part in parts_of(campaign) for level in part.levels]
    assert all(level.ceiling_shares["loopback"] > 0 for level in levels)
    sizes = {level.values["record.size"] for level in levels if "record.size" in level.values}
    beside = {
        level.values["record.size"]
        for level in levels
        if "record.size" in level.values and "generator" in level.ceiling_shares
    }
    assert beside < sizes
    assert all(bool(level.bottleneck) == bool(level.bottleneck_numbers) for level in levels)


def test_a_variants_values_are_shown_in_the_settings_form() -> None:
    levels = compare.compared_part(compare_study(load_study(STUDIES / "ingest.yaml")), "ceiling", []).levels

    assert {"path": "batches", "resumable": "true"} in [level.sets for level in levels]  # the file says true
