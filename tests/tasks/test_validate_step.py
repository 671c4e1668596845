"""The validate step, run by its command line: what passes, what is quarantined, and its artifacts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.tables import DESIGN_COLUMNS, TRIAL_COLUMNS
from kafka_pareto.errors import ArtifactError, GateError
from kafka_pareto.steps import validate
from kafka_pareto.study.factors import configuration_id
from kafka_pareto.study.overrides import with_overrides
from tests.step_command import run_step
from tests.tasks.gate_campaign import (
    CASE,
    CONFIGURATIONS,
    REPETITIONS,
    Tool,
    campaign_with,
    recorded,
    rejected_of,
    set_to,
    summary_of,
)

pytestmark = pytest.mark.servers  # no server, but Great Expectations takes too long to import for the fast group


@pytest.mark.parametrize("tool", get_args(Tool))
def test_a_clean_recording_passes_completely_and_becomes_trials(tool: Tool, tmp_path: Path) -> None:
    campaign = campaign_with(tmp_path, recorded(tool), tolerated=0.0, tool=tool)

    manifest = validate.run(campaign)

    assert manifest.counts["accepted"] == (CONFIGURATIONS + 1) * REPETITIONS
    assert manifest.counts["rejected"] == manifest.counts["failed"] == manifest.counts["warnings"] == 0
    trials = campaign.read_table(campaign.keys.trials(), TRIAL_COLUMNS)
    assert set(trials.configuration_id) == {row.configuration_id for row in recorded()}
    assert (trials.repetitions_valid == REPETITIONS).all()
    assert summary_of(campaign).passed


def test_a_rejected_repetition_is_in_no_trial(tmp_path: Path) -> None:
    rows = set_to(latency_p95_ms=1e6)(recorded())
    campaign = campaign_with(tmp_path, rows)

    validate.run(campaign)

    trials = campaign.read_table(campaign.keys.trials(), TRIAL_COLUMNS).set_index("configuration_id")
    spoilt = trials.loc[rows[0].configuration_id]
    assert spoilt.repetitions_valid == REPETITIONS - 1
    assert rows[0].repetition_id not in spoilt.repetition_ids


def test_repetitions_that_failed_for_implausible_values_are_counted_by_their_reason(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, *others = recorded()
    implausible = {"outcome": "failed", "reason": "the p95 latency is above p99", "broken_rules": ["p95_within_p99"]}
    campaign = campaign_with(tmp_path, [first.with_values(implausible), *others])

    with caplog.at_level("INFO"):
        manifest = validate.run(campaign)

    assert (manifest.counts["failed"], manifest.counts["rejected"]) == (1, 0)
    assert (
        f"1 of {manifest.counts['repetitions']} repetitions failed at measurement because of implausible values"
        in caplog.text
    )
    assert "1 failed: the p95 latency is above p99" in caplog.text


def test_lost_records_are_an_outcome_that_is_kept_and_costs_no_tolerance(tmp_path: Path) -> None:
    rows = set_to(outcome="records_lost", end_offset_growth=990)(recorded())
    campaign = campaign_with(tmp_path, rows, tolerated=0.0)

    manifest = validate.run(campaign)

    assert (manifest.counts["rejected"], manifest.counts["lost_records"]) == (0, 1)
    trials = campaign.read_table(campaign.keys.trials(), TRIAL_COLUMNS).set_index("configuration_id")
    assert trials.loc[rows[0].configuration_id].repetitions_lost_records == 1


FAILED = {
    "outcome": "failed", "reason": "the load generator failed with exit code 1", "records_sent": None,
    "end_offset_growth": None, "throughput_records_s": None, "throughput_mib_s": None,
    "printed_mib_s": None, "latency_avg_ms": None,
    "latency_max_ms": None, "latency_p50_ms": None, "latency_p95_ms": None, "latency_p99_ms": None,
    "latency_p999_ms": None, "wall_s": 0.0, "client_cpu_s": 0.0, "produce_throttle_max_ms": None,
}  # fmt: skip


def test_the_gate_counts_failed_and_rejected_repetitions_and_names_them_with_all_artifacts_written(
    tmp_path: Path,
) -> None:
    rows = recorded()
    rows[0] = rows[0].with_values(FAILED)
    rows[1] = rows[1].with_values({**FAILED, "attempts": 0})
    campaign = campaign_with(tmp_path, rows, tolerated=0.1)

    with pytest.raises(GateError) as stop:
        validate.run(campaign)

    message = str(stop.value)
    assert "2 of 16 repetitions (12.5 %)" in message
    assert "tolerates 10.0 %" in message
    assert f"{rows[0].repetition_id}: failed: the load generator failed with exit code 1" in message
    assert f"{rows[1].repetition_id}: was never attempted" in message
    assert list(rejected_of(campaign).repetition_id) == [rows[1].repetition_id]
    assert not summary_of(campaign).passed
    assert campaign.store.tag(campaign.keys.validation("data_docs/index.html"))
    assert campaign.store.tag(campaign.keys.trials()) is None


def test_trials_of_an_earlier_pass_do_not_outlive_a_gate_that_stops(tmp_path: Path) -> None:
    campaign = campaign_with(tmp_path, recorded(), tolerated=0.0)
    validate.run(campaign)
    spoilt = recorded()[0].model_copy(update={"attempts": 0})
    campaign.write_record(f"{campaign.keys.measurements(CASE)}000.json", spoilt)

    with pytest.raises(GateError):
        validate.run(campaign)

    assert campaign.store.tag(campaign.keys.trials()) is None


def test_the_gate_passes_values_within_the_tolerance(tmp_path: Path) -> None:
    rows = recorded()
    rows[0] = rows[0].with_values(FAILED)
    campaign = campaign_with(tmp_path, rows, tolerated=1 / 16)

    assert validate.run(campaign).counts["failed"] == 1


def in_round_one(folder: Path, failed: int) -> Campaign:
    """A design of which one repetition was rejected, and a round that measured its first configuration and the baseline
    anew. It tolerates two of all repetitions.
    """
    campaign = campaign_with(folder, set_to(latency_p95_ms=1e6)(recorded()), tolerated=2 / 24)
    validate.run(campaign)
    keys = campaign.keys
    design = campaign.read_table(keys.design(), DESIGN_COLUMNS)
    chosen = design[design.is_baseline | (design.index == design.index[0])]
    campaign.write_table(keys.design(1), chosen, DESIGN_COLUMNS)
    again = [row for row in recorded() if row.configuration_id in set(chosen.configuration_id)]
    for number, row in enumerate(again):
        identity = {"round": 1, "repetition_id": row.repetition_id.replace("-r00-", "-r01-")}
        placed = row.with_values(identity | (FAILED if number < failed else {}))
        campaign.write_record(f"{keys.measurements(CASE, 1)}{placed.repetition_id}.json", placed)
    return campaign


def test_a_rounds_trials_come_from_all_accepted_repetitions_so_far(tmp_path: Path) -> None:
    campaign = in_round_one(tmp_path, failed=1)  # an eighth of the round, and two of all 24 with the rejected one

    manifest = validate.run(campaign, 1)

    assert (manifest.counts["repetitions"], manifest.counts["failed"]) == (2 * REPETITIONS, 1)
    designed = campaign.read_table(campaign.keys.trials(), TRIAL_COLUMNS)
    trials = campaign.read_table(campaign.keys.trials(1), TRIAL_COLUMNS)
    assert list(trials.configuration_id) == list(designed.configuration_id)
    valid = trials.set_index("configuration_id").repetitions_valid.to_dict()
    again, baseline = recorded()[0].configuration_id, campaign.study.baseline_id()
    assert (valid.pop(again), valid.pop(baseline)) == (2 * REPETITIONS - 2, 2 * REPETITIONS)
    assert set(valid.values()) == {REPETITIONS}
    assert campaign.store.tag(campaign.keys.validation("data_docs/index.html", 1))


def test_a_rounds_failures_are_tolerated_as_a_share_of_all_that_was_measured(tmp_path: Path) -> None:
    campaign = in_round_one(tmp_path, failed=2)

    with pytest.raises(GateError, match=r"3 of 24 repetitions \(12\.5 %\)"):
        validate.run(campaign, 1)

    assert campaign.store.tag(campaign.keys.trials(1)) is None


def test_the_gate_names_the_first_twenty_rows_and_counts_the_others(tmp_path: Path) -> None:
    campaign = campaign_with(tmp_path, [])
    study = with_overrides(campaign.study, repetitions=10)

    with pytest.raises(GateError, match="40 planned repetitions missing") as stop:
        validate.run(Campaign(study, campaign.keys, campaign.store))

    assert len(re.findall(r"is planned but was not measured", str(stop.value))) == 20
    assert "and 20 more" in str(stop.value)


def test_a_baseline_of_which_nothing_is_left_stops_the_campaign_whatever_the_tolerance(tmp_path: Path) -> None:
    rows = [row.with_values({"latency_p50_ms": -1.0}) if row.is_baseline else row for row in recorded()]
    campaign = campaign_with(tmp_path, rows, tolerated=1.0)

    with pytest.raises(GateError, match="the baseline has no valid repetition for 8,192 B"):
        validate.run(campaign)


def test_an_invalid_repetition_is_named_by_its_key(tmp_path: Path) -> None:
    campaign = campaign_with(tmp_path, recorded())
    key = f"{campaign.keys.measurements(CASE)}000.json"
    campaign.store.put(key, campaign.store.get(key).replace(b'"valid"', b'"fine"'))

    with pytest.raises(ArtifactError, match=f"{re.escape(key)}: outcome: 'fine'"):
        validate.run(campaign)


def test_the_data_docs_open_from_a_copy_of_the_folder_and_are_replaced_by_the_next_run(tmp_path: Path) -> None:
    campaign = campaign_with(tmp_path, recorded())
    validate.run(campaign)
    first = campaign.store.keys(campaign.keys.validation("data_docs/"))

    validate.run(campaign)

    second = campaign.store.keys(campaign.keys.validation("data_docs/"))
    assert len(first) == len(second)
    index = tmp_path / campaign.keys.validation("data_docs/index.html")
    pages = [index, *index.parent.rglob("validations/**/*.html")]
    assert len(pages) == 5
    suite_page = index.parent / "expectations" / "valid_repetitions.html"
    assert "the p95 latency is above p99" in suite_page.read_text("utf-8")
    for page in pages:
        links = re.findall(r'href="(?!https?:|#)([^"]+\.html)"', page.read_text("utf-8"))
        assert links
        assert [link for link in links if not (page.parent / link).resolve().is_file()] == []
    counted = r'href="([^"]+)">\w+</a><td>(\d+) of (\d+) kept'
    for address, kept, of in re.findall(counted, index.read_text("utf-8")):
        page = (index.parent / address).read_text("utf-8")
        said = re.findall(r"(?:Evaluated|Successful) Expectations\D*(\d+)", re.sub(r"<[^>]*>", "", page))
        assert [of, kept] == said, address
        assert re.findall(r"<script|<footer|onclick|(?:href|src)=.https?:", page) == []


def test_the_step_runs_by_its_command_line_and_ends_with_its_manifest(tmp_path: Path) -> None:
    campaign = campaign_with(tmp_path / "store", set_to(latency_p95_ms=1e6)(recorded()))

    ended = run_step("validate", tmp_path / "store", "--campaign", "c1", home=tmp_path)

    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert Manifest.model_validate_json(lines[-1]).artifacts[0] == campaign.keys.trials()
    assert lines[:-1] == [
        "16 repetitions checked (16 planned): 15 accepted, 1 rejected; 0 failed, 0 with lost or duplicated records",
        "      1 rejected: the p95 latency is above p99",
    ]
    assert ended.stderr == ""


def test_the_recorded_configurations_carry_the_ids_that_their_values_give() -> None:
    assert all(row.configuration_id == configuration_id(row.configuration) for row in recorded())
