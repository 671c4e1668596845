"""The rollback: from each version to the one before, and finally to the baseline."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import InForceKeys
from kafka_pareto.errors import ArtifactError, BadInputError
from kafka_pareto.rollout.versions import ActiveSettings, versions
from kafka_pareto.steps import roll_back
from kafka_pareto.study.options import Wanted
from tests.tasks.accepting import CASE, OTHER_CASE, STUDY, accepted, accepting_campaign, durable_id, exported, other_id

pytestmark = pytest.mark.fast


@pytest.fixture
def campaign(reported_store: Path, tmp_path: Path) -> Campaign:
    """Two of its configurations became active one after the other."""
    found = accepting_campaign(reported_store, tmp_path)
    for name in (durable_id, other_id):
        accepted(found, Wanted(case=CASE, configuration=name(found)))
    return found


def kept(campaign: Campaign) -> list[ActiveSettings]:
    return versions(campaign.store, STUDY, CASE)


def test_it_adds_a_version_with_the_settings_of_the_one_before(campaign: Campaign) -> None:
    roll_back.run(campaign.store, STUDY, CASE, by="bob", reason="too many retries")
    first, second, third = kept(campaign)
    assert third.properties == first.properties != second.properties
    assert (third.version, third.came_by) == (3, "rolled_back")
    assert (third.accepted_by, third.reason) == ("bob", "too many retries")
    assert (third.campaign, third.gains, third.fingerprint) == (first.campaign, first.gains, first.fingerprint)
    assert exported(campaign)["batch.size"] == str(first.properties["batch.size"])


def test_a_further_one_goes_further_back_and_the_last_leads_to_the_baseline(campaign: Campaign) -> None:
    roll_back.run(campaign.store, STUDY, CASE)
    roll_back.run(campaign.store, STUDY, CASE)
    study, settings = campaign.study, kept(campaign)[-1]
    assert (settings.version, settings.is_baseline, settings.gains) == (4, True, [])
    assert settings.configuration_id == study.baseline_id()
    assert settings.configuration == study.baseline_configuration()
    assert settings.properties == study.properties(study.baseline_configuration())
    assert settings.durability == study.durability_of(study.baseline_configuration()).name


def test_before_the_baseline_there_is_nothing(campaign: Campaign) -> None:
    for _ in range(2):
        roll_back.run(campaign.store, STUDY, CASE)
    with pytest.raises(BadInputError, match=r"version 4 .* is the baseline; there is no earlier version"):
        roll_back.run(campaign.store, STUDY, CASE)
    assert len(kept(campaign)) == 4


def test_a_rollback_after_a_rollback_and_an_acceptance_returns_to_the_first_ones_target(campaign: Campaign) -> None:
    roll_back.run(campaign.store, STUDY, CASE)
    accepted(campaign, Wanted(case=CASE, configuration=other_id(campaign)))
    roll_back.run(campaign.store, STUDY, CASE)
    assert kept(campaign)[-1].properties == kept(campaign)[2].properties == kept(campaign)[0].properties


def test_it_needs_no_campaign_any_more(campaign: Campaign) -> None:
    for key in campaign.store.keys(f"{campaign.keys.prefix}/"):
        campaign.store.delete(key)
    for _ in range(2):
        roll_back.run(campaign.store, STUDY, CASE)
    assert kept(campaign)[-1].is_baseline


def test_a_retried_request_goes_back_only_once(campaign: Campaign) -> None:
    first = roll_back.run(campaign.store, STUDY, CASE, request="manual__1")
    assert roll_back.run(campaign.store, STUDY, CASE, request="manual__1") == first
    assert len(kept(campaign)) == 3
    roll_back.run(campaign.store, STUDY, CASE, request="manual__2")
    assert len(kept(campaign)) == 4


def test_a_request_that_was_made_before_something_else_came_into_force_announces_nothing(campaign: Campaign) -> None:
    roll_back.run(campaign.store, STUDY, CASE, request="manual__1")
    accepted(campaign, Wanted(case=CASE, configuration=other_id(campaign), by="alice"))
    manifest = roll_back.run(campaign.store, STUDY, CASE, request="manual__1")
    assert (manifest.cases, manifest.event, manifest.artifacts) == ([], {}, [])
    assert manifest.notice
    assert manifest.notice.kind == "unchanged"
    assert "version 4 is active, accepted from campaign 20261121-recorded by alice" in manifest.notice.text
    assert "This request made version 3, which was replaced later." in manifest.notice.text
    assert len(kept(campaign)) == 4


def test_it_is_refused_if_another_version_became_active_since_its_decision(campaign: Campaign) -> None:
    with pytest.raises(BadInputError, match=r"--from-version: .* for version 1, but version 2 is active now"):
        roll_back.run(campaign.store, STUDY, CASE, from_version=1)
    assert len(kept(campaign)) == 2
    first = roll_back.run(campaign.store, STUDY, CASE, request="manual__1", from_version=2)
    assert roll_back.run(campaign.store, STUDY, CASE, request="manual__1", from_version=2) == first
    assert [settings.version for settings in kept(campaign)] == [1, 2, 3]


def test_a_missing_version_is_named_and_the_next_one_has_its_own_number(campaign: Campaign) -> None:
    campaign.store.delete(InForceKeys(STUDY, CASE).version(1))
    with pytest.raises(ArtifactError, match=r"versions/00001.json: .* is the rollback target of version 2"):
        roll_back.run(campaign.store, STUDY, CASE)
    accepted(campaign, Wanted(case=CASE, configuration=campaign.study.baseline_id()))
    assert kept(campaign)[-1].version == 3


def test_notice_and_event_name_the_restored_settings(campaign: Campaign) -> None:
    manifest = roll_back.run(campaign.store, STUDY, CASE, by="bob", reason="too many retries")
    former, settings = kept(campaign)[1:]
    assert manifest.notice
    assert manifest.notice.kind == "in_force"
    assert (
        f"version 3 is active, rolled back to the settings of campaign {settings.campaign} by bob (too many retries)"
        in (manifest.notice.text)
    )
    assert f"linger.ms {former.properties['linger.ms']} -> {settings.properties['linger.ms']}" in (manifest.notice.text)
    sizes = manifest.event["cases"]
    assert isinstance(sizes, dict)
    assert sizes[str(CASE)]["properties"] == settings.properties
    assert sizes[str(CASE)]["came_by"] == "rolled_back"


def test_without_active_settings_it_names_the_studies_that_have_some(campaign: Campaign) -> None:
    with pytest.raises(BadInputError, match=r"1024: it has no active settings .* study paper has .* for 65,636 B"):
        roll_back.run(campaign.store, STUDY, OTHER_CASE)
    with pytest.raises(BadInputError, match="study quick has active settings for no case yet"):
        roll_back.run(campaign.store, "quick", CASE)


@pytest.mark.parametrize("study", ["../paper", "Paper", ""])
def test_an_invalid_study_name_becomes_no_key(campaign: Campaign, study: str) -> None:
    with pytest.raises(BadInputError, match="is not a study name"):
        roll_back.run(campaign.store, study, CASE)
