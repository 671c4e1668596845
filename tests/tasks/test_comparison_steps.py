"""A comparison's gate and report on the seeded fake: what they let pass, and what a reader is given."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from benchmarks.keep_campaign import keep
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.records import ValidationSummary
from kafka_pareto.campaign.tables import rejected_columns
from kafka_pareto.comparison.records import PartComparison
from kafka_pareto.drivers.producer.compare import CompareProducer
from kafka_pareto.errors import GateError
from kafka_pareto.steps import compare, report_comparison, validate
from tests.compared import BLOCKS, comparison, measured
from tests.tasks.gate_campaign import Corruption, changed, set_to

pytestmark = pytest.mark.servers  # no server, but Great Expectations takes too long to import for the fast group

LEVELS = 2 + 3 + 4


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Campaign, Manifest]:
    """A comparison through all of its steps, and what the last one says."""
    campaign = measured(tmp_path_factory.mktemp("finished"))
    validate.run(campaign)
    compare.run(campaign)
    return campaign, report_comparison.run(campaign)


def small_comparison() -> CompareProducer:
    """Return a study of the record size alone that tolerates the corrupted rows."""
    table = {"factor": "record.size", "levels": [512, 1024, 2048]}
    return comparison(grid=None, tables=[table], validation={"tolerated_rejected_fraction": 0.5})


def summary_of(campaign: Campaign) -> ValidationSummary:
    return campaign.read_record(campaign.keys.validation("summary.json"), ValidationSummary)


@pytest.mark.long
def test_every_repetition_passes_the_suites_whatever_its_levels_record_size(
    finished: tuple[Campaign, Manifest],
) -> None:
    campaign, _ = finished
    summary = summary_of(campaign)
    assert summary.passed
    assert (summary.repetitions_stored, summary.repetitions_accepted) == (LEVELS * BLOCKS, LEVELS * BLOCKS)
    # Great Expectations has asked for the unit of every record size.
    (units,) = [each for each in summary.expectations if each.name == "throughput_of_records"]
    assert units.success
    sizes = {each.configuration["record.size"] for each in campaign.read_measurements(["record_size"], [0])}
    assert sizes == {512, 1024, 2048}


def test_no_trials_are_written_and_the_data_docs_are(finished: tuple[Campaign, Manifest]) -> None:
    campaign, _ = finished
    found = campaign.store.keys(campaign.keys.prefix)
    assert campaign.keys.trials() not in found
    assert campaign.keys.validation("data_docs/index.html") in found
    columns = rejected_columns(campaign.study.declaration)
    assert campaign.read_table(campaign.keys.validation("rejected.parquet"), columns).empty


def test_it_is_kept_with_all_repetitions_its_text_and_the_machine(
    finished: tuple[Campaign, Manifest], tmp_path: Path
) -> None:
    campaign, _ = finished
    assert keep(campaign, tmp_path) == LEVELS * BLOCKS
    kept = {str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*") if each.is_file()}
    tables = {f"tables/{case}.csv" for case in campaign.study.cases}
    assert kept == {"study.yaml", "repetitions.csv", "tables.txt", "fingerprint.json", *tables}


CORRUPTIONS: dict[str, tuple[Corruption, str]] = {
    "its units are another record size's": (
        changed(lambda row: {"throughput_mib_s": 2 * row.number("throughput_mib_s")}),
        "throughput_mib_s contradicts the records per second",
    ),
    "its level is none that the part has": (
        changed(lambda row: {"configuration": {**row.configuration, "record.size": 1024 + 1}}),
        "its factor values contradict its configuration ID",
    ),
    "it passes for the reference": (
        set_to(is_baseline=True),
        "is_baseline contradicts its configuration",
    ),
    "records are missing": (
        changed(lambda row: {"end_offset_growth": int(row.number("end_offset_growth") or 0) - 1}),
        "the growth of the topic's end offsets differs from the number of records requested",
    ),
}


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory: pytest.TempPathFactory) -> tuple[Campaign, dict[str, str]]:
    """A comparison with a row for each corruption, after the gate; and the row's id by the corruption's name."""
    campaign = measured(tmp_path_factory.mktemp("spoilt"), small_comparison())
    prefix = campaign.keys.measurements("record_size")
    others = [key for key in campaign.store.keys(prefix) if not campaign.read_repetition(key).is_baseline]
    row_of = {}
    for key, (name, (corruption, _)) in zip(others, CORRUPTIONS.items(), strict=False):
        (corrupted,) = corruption([campaign.read_repetition(key)])
        campaign.write_record(key, corrupted)
        row_of[name] = corrupted.repetition_id
    validate.run(campaign)
    compare.run(campaign)
    return campaign, row_of


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_a_corrupted_repetition_of_a_level_is_quarantined_with_its_reason(
    spoilt: tuple[Campaign, dict[str, str]], name: str
) -> None:
    campaign, row_of = spoilt
    columns = rejected_columns(campaign.study.declaration)
    rejected = campaign.read_table(campaign.keys.validation("rejected.parquet"), columns)
    reasons = dict(zip(rejected.repetition_id, rejected.rejected_because, strict=True))
    assert CORRUPTIONS[name][1] in reasons[row_of[name]]
    assert set(reasons) == set(row_of.values()), "no other repetition is set aside"


def test_quarantined_repetitions_are_in_no_levels_numbers(spoilt: tuple[Campaign, dict[str, str]]) -> None:
    campaign, row_of = spoilt
    part = campaign.read_record(campaign.keys.comparison("record_size"), PartComparison)
    used = {name for level in part.levels for name in level.repetition_ids}
    assert used.isdisjoint(row_of.values())
    assert len(used) == 3 * BLOCKS - len(CORRUPTIONS)


def test_a_part_whose_reference_has_no_valid_repetition_stops_the_gate(tmp_path: Path) -> None:
    campaign = measured(tmp_path, small_comparison())
    for key in campaign.store.keys(campaign.keys.measurements("record_size")):
        repetition = campaign.read_repetition(key)
        if repetition.is_baseline:
            campaign.write_record(key, repetition.with_values({"outcome": "records_lost", "reason": "lost"}))
    with pytest.raises(GateError, match="baseline"):
        validate.run(campaign)


def test_the_report_is_tables_as_text_and_csv_figures_and_one_page(finished: tuple[Campaign, Manifest]) -> None:
    campaign, manifest = finished
    keys, found = campaign.keys, set(campaign.store.keys(campaign.keys.prefix))
    assert set(manifest.artifacts) <= found
    wanted = {keys.report(f"tables/{case}.csv") for case in campaign.study.cases}
    assert wanted | {keys.report("tables.txt"), keys.report("report.html")} <= found
    figures = [key for key in found if key.startswith(keys.report("figures/"))]
    assert figures
    assert all(campaign.store.get(key).startswith(b"\x89PNG") for key in figures)
    assert manifest.counts == {"parts": 3, "levels": LEVELS}


def test_the_page_is_self_contained_and_describes_the_method(finished: tuple[Campaign, Manifest]) -> None:
    campaign, _ = finished
    page = campaign.store.get(campaign.keys.report("report.html")).decode()
    for part in campaign.study.cases:
        assert part in page
    assert "the stack's cluster" in html.unescape(page)
    assert f"{LEVELS * BLOCKS}" in page
    assert not re.findall(r'(?:src|href)="https?://', page)


def test_it_ends_with_the_sentences_that_people_are_sent_too(finished: tuple[Campaign, Manifest]) -> None:
    campaign, manifest = finished
    text = campaign.store.get(campaign.keys.report("tables.txt")).decode()
    assert manifest.notice is not None
    (first, *sentences) = manifest.notice.text.splitlines()
    assert first == f"Campaign {campaign.keys.campaign} has ended."
    assert len(sentences) == 4  # the fourth is on published ratios
    assert text.splitlines()[-4:] == sentences
