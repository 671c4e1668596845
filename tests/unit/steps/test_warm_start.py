from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import Prior
from kafka_pareto.campaign.tables import DESIGN_COLUMNS, FRONT_COLUMNS, PRIOR_TRIAL_COLUMNS, TRIAL_COLUMNS, table_schema
from kafka_pareto.drivers.common.systems import ClusterSystem
from kafka_pareto.errors import BadInputError
from kafka_pareto.steps import design, propose
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.factors import configuration_id
from kafka_pareto.surrogates.prior_trials import best_known
from tests.fakes import FakeCluster
from tests.past import CASES, past_campaign, study_in_rounds
from tests.recorded import recorded_repetitions

pytestmark = [pytest.mark.fast, pytest.mark.slow]

COLD = study_in_rounds()
WARM = study_in_rounds(warm_start={"campaigns": "latest"})
KEYS = CampaignKeys(WARM.name, "c9")


def designed(folder: Path) -> Campaign:
    """Return a campaign that starts warm from the one before it."""
    past_campaign(folder)
    design.run(FolderStore(folder), WARM, "c9", ClusterSystem(FakeCluster()))
    return Campaign.open(FolderStore(folder), WARM.name, "c9")


def proposed(campaign: Campaign) -> bytes:
    """Return the first round's design, after a round 0 of twelve recorded configurations."""
    trials = summarise_trials(recorded_repetitions(CASES, 12, blocks=1), campaign.study)
    nothing = pd.DataFrame(columns=table_schema(FRONT_COLUMNS, campaign.study).names)
    columns = table_schema(DESIGN_COLUMNS, campaign.study).names
    campaign.write_table(campaign.keys.design(), trials[columns], DESIGN_COLUMNS)
    campaign.write_table(campaign.keys.trials(), trials, TRIAL_COLUMNS)
    for size in CASES:
        campaign.write_table(campaign.keys.front(size), nothing, FRONT_COLUMNS)
    propose.run(campaign, 1)
    return campaign.store.get(campaign.keys.design(1))


def test_a_design_begins_with_the_best_known_and_draws_new_ones_after_them(tmp_path: Path) -> None:
    campaign = designed(tmp_path)
    prior = campaign.read_table(KEYS.prior_trials(), PRIOR_TRIAL_COLUMNS)
    table = campaign.read_table(KEYS.design(), DESIGN_COLUMNS)

    for size in CASES:
        ids = table[table.case == size].configuration_id.tolist()
        known = [configuration_id(each) for each in best_known(WARM, prior, size, 4)]
        assert ids[: 1 + len(known)] == [WARM.baseline_id(), *known]
        assert 1 <= len(known) <= 4
        assert len(set(ids)) == len(ids) == 9


def test_its_warm_start_is_stored_and_named_in_the_manifest(tmp_path: Path) -> None:
    past_campaign(tmp_path)
    manifest = design.run(FolderStore(tmp_path), WARM, "c9", ClusterSystem(FakeCluster()))
    prior = Campaign.open(FolderStore(tmp_path), WARM.name, "c9").read_record(KEYS.prior(), Prior)

    assert {KEYS.prior(), KEYS.prior_trials()} <= set(manifest.artifacts)
    assert manifest.counts["prior_trials"] == sum(each.trials for each in prior.campaigns) > 0
    assert len(CASES) <= manifest.counts["known_configurations"] <= 4 * len(CASES)
    assert (prior.half_life_days, [each.campaign for each in prior.campaigns]) == (30.0, ["c0"])


def test_a_resumed_campaign_keeps_its_warm_start_even_if_there_is_a_later_one(tmp_path: Path) -> None:
    campaign = designed(tmp_path)
    kept = {key: campaign.store.get(key) for key in (KEYS.prior(), KEYS.prior_trials(), KEYS.design())}
    past_campaign(tmp_path, "c1", days_later=1, block=1)

    design.run(campaign.store, WARM, "c9", ClusterSystem(FakeCluster()))
    assert {key: campaign.store.get(key) for key in kept} == kept


def test_a_named_campaign_that_is_not_there_stops_the_campaign_before_it_begins(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    with pytest.raises(BadInputError, match=r"warm_start\.campaigns: c1: there is no such"):
        design.run(store, study_in_rounds(warm_start={"campaigns": ["c1"]}), "c9", ClusterSystem(FakeCluster()))

    assert store.tag(KEYS.frozen_study()) is None


def test_without_a_warm_start_nothing_of_the_past_is_read_or_written(tmp_path: Path) -> None:
    past = past_campaign(tmp_path)
    for key in past.store.keys(past.keys.prefix):
        past.store.put(key, b"nothing that could be read")
    manifest = design.run(past.store, COLD, "c9", ClusterSystem(FakeCluster()))

    assert not {KEYS.prior(), KEYS.prior_trials()} & {*manifest.artifacts, *past.store.keys("")}
    assert not {"prior_trials", "known_configurations"} & manifest.counts.keys()


def test_a_round_learns_from_the_campaigns_warm_start(tmp_path: Path) -> None:
    (tmp_path / "cold").mkdir()
    design.run(FolderStore(tmp_path / "cold"), COLD, "c9", ClusterSystem(FakeCluster()))
    cold = Campaign.open(FolderStore(tmp_path / "cold"), COLD.name, "c9")
    design.run(FolderStore(tmp_path / "empty"), WARM, "c9", ClusterSystem(FakeCluster()))
    empty = Campaign.open(FolderStore(tmp_path / "empty"), WARM.name, "c9")

    without = proposed(cold)
    assert proposed(empty) == without  # there was no earlier campaign
    assert proposed(designed(tmp_path / "warm")) != without


def test_the_same_past_and_seed_propose_the_same(tmp_path: Path) -> None:
    campaign = designed(tmp_path)
    first = proposed(campaign)
    campaign.store.delete(KEYS.proposal(1))

    assert proposed(campaign) == first
