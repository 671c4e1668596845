"""Show active settings in the explorer, and the changes that its buttons would make."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.errors import BadInputError
from kafka_pareto.explorer.active_view import ActiveView, Move, active_text, active_view, move_to
from kafka_pareto.explorer.snapshot import read_snapshot
from kafka_pareto.kafka.properties_file import parse_properties
from kafka_pareto.rollout.versions import active_settings, add_version, versions
from kafka_pareto.steps import roll_back
from kafka_pareto.storage.folder_store import FolderStore
from tests.tasks.accepting import CASE, STUDY, accepted, change_trial, durable_id, exported, other_id, pick, trials_of
from tests.tasks.report_campaign import CAMPAIGN

pytestmark = pytest.mark.fast


@pytest.fixture
def campaign(reported_store: Path, tmp_path: Path) -> Campaign:
    shutil.copytree(reported_store, tmp_path / "store")
    return Campaign.open(FolderStore(tmp_path / "store"), STUDY, CAMPAIGN)


def shown(campaign: Campaign) -> ActiveView:
    return active_view(versions(campaign.store, STUDY, CASE))


def moving(campaign: Campaign, configuration_id: str) -> Move:
    return move_to(read_snapshot(campaign, CASE), configuration_id, active_settings(campaign.store, STUDY, CASE))


def test_without_active_settings_there_is_no_rollback(campaign: Campaign) -> None:
    view = shown(campaign)
    assert view.versions == []
    assert "no earlier version to roll back to" in view.way_back.refused


def test_the_step_changes_the_settings_shown_on_its_button(campaign: Campaign) -> None:
    before = campaign.study.properties(campaign.study.baseline_configuration())
    for name in (durable_id(campaign), other_id(campaign)):
        said = moving(campaign, name)
        assert said.refused == ""
        accepted(campaign, pick(name))
        after = exported(campaign)
        for change in said.changes:
            assert change.after.replace(",", "") == after[change.name]
        unchanged = {*after} - {change.name for change in said.changes}
        assert {key: after[key] for key in unchanged} == {key: str(before[key]).lower() for key in unchanged}
        before = parse_properties(campaign.store.get(f"_in_force/{STUDY}/{CASE}/producer.properties").decode())


def test_the_rollback_shows_its_changes_and_ends_at_the_baseline(campaign: Campaign) -> None:
    accepted(campaign, pick(durable_id(campaign)))
    view = shown(campaign)
    forth = {change.name: (change.before, change.after) for change in view.differs_from_baseline}
    assert forth
    assert {change.name: (change.after, change.before) for change in view.way_back.changes} == forth
    roll_back.run(campaign.store, STUDY, CASE)
    assert shown(campaign).differs_from_baseline == []
    assert "no earlier version to roll back to" in shown(campaign).way_back.refused


def test_less_durability_is_reported_in_either_direction(campaign: Campaign) -> None:
    weaker = other_id(campaign)
    durability = trials_of(campaign).set_index("configuration_id").durability[weaker]
    assert moving(campaign, weaker).weakens == f"{durability} instead of acks_all_idempotent"
    accepted(campaign, pick(weaker))
    assert shown(campaign).way_back.weakens == ""
    assert moving(campaign, durable_id(campaign)).weakens == ""


@pytest.mark.parametrize("outcome", [{"repetitions_lost_records": 1}, {"repetitions_valid": 0}, {"feasible": False}])
def test_a_move_the_step_would_refuse_has_no_button(campaign: Campaign, outcome: dict[str, int]) -> None:
    name = durable_id(campaign)
    change_trial(campaign, name, **outcome)
    refused = moving(campaign, name).refused
    with pytest.raises(BadInputError, match=refused[-20:]):
        accepted(campaign, pick(name))


def test_active_settings_have_no_activate_button(campaign: Campaign) -> None:
    accepted(campaign, pick(durable_id(campaign)))
    assert moving(campaign, durable_id(campaign)).refused == "Already active as version 1."
    assert moving(campaign, other_id(campaign)).refused == ""


def test_the_baseline_has_one_only_if_other_settings_are_active(campaign: Campaign) -> None:
    baseline = campaign.study.baseline_id()
    assert "no other settings are active" in moving(campaign, baseline).refused
    accepted(campaign, pick(durable_id(campaign)))
    assert moving(campaign, baseline).refused == ""


def test_before_the_report_nothing_has_a_button(campaign: Campaign) -> None:
    campaign.store.delete(campaign.keys.report("cards.json"))
    assert "before the campaign's report" in moving(campaign, durable_id(campaign)).refused


def test_settings_not_measured_here_have_no_move(campaign: Campaign) -> None:
    with pytest.raises(BadInputError, match="c0000000000 was not measured for 65,636 B"):
        moving(campaign, "c0000000000")


def test_a_download_is_of_the_newest_version_though_its_files_were_never_written(campaign: Campaign) -> None:
    with pytest.raises(BadInputError, match="no settings are active for 65,636 B of study paper"):
        active_text(campaign.store, STUDY, CASE, "producer.properties")
    accepted(campaign, pick(durable_id(campaign)))
    first = versions(campaign.store, STUDY, CASE)[0]
    add_version(campaign.store, first.model_copy(update={"version": 2, "properties": {"linger.ms": 77}}))
    text = active_text(campaign.store, STUDY, CASE, "producer.properties")
    assert "# Version 2 since " in text
    assert parse_properties(text) == {"linger.ms": "77"}
    with pytest.raises(BadInputError, match=r"spark.properties: driver producer has no such file"):
        active_text(campaign.store, STUDY, CASE, "spark.properties")
