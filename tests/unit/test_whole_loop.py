"""The whole pipeline, step by step, on the seeded fake: the shape of what comes out, without a server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from kafka_pareto.artifacts import CampaignKeys
from kafka_pareto.campaign import Campaign
from kafka_pareto.decision import Decision
from kafka_pareto.errors import BadInputError, PlanError
from kafka_pareto.steps import confirm, design, measure, optimize, report, train, validate
from kafka_pareto.store import FolderStore
from kafka_pareto.study import Study
from kafka_pareto.study_file import parse_study
from tests.fakes import FakeCluster, fake_testbed
from tests.recorded import STUDIES

SIZES = [1024, 8192]


def study_of(**changes: object) -> Study:
    content = yaml.safe_load((STUDIES / "quick.yaml").read_text()) | {"record_sizes_bytes": SIZES}
    return parse_study(yaml.safe_dump(content | changes), "loop")


def run_all(store: FolderStore, study: Study, campaign_id: str) -> Campaign:
    with FakeCluster() as cluster:
        design.run(store, study, campaign_id, cluster)
    campaign = Campaign.open(store, study.name, campaign_id)
    for size in study.record_sizes_bytes:
        with fake_testbed(campaign, size) as testbed:
            measure.run(campaign, size, testbed)
    validate.run(campaign)
    train.run(campaign)
    for size in study.record_sizes_bytes:
        optimize.run(campaign, size)
    for size in study.record_sizes_bytes:
        with fake_testbed(campaign, size) as testbed:
            confirm.run(campaign, size, testbed)
    report.run(campaign)
    return campaign


@pytest.fixture(scope="module")
def strong(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """A campaign with evidence enough for a decision."""
    study = study_of(
        design={"configurations": 16, "feasible": True},
        protocol={"kind": "cold_burst", "records": 1000, "repetitions": 4},
        confirmation={"points": 4, "choice_blocks": 10, "gain_blocks": 10},
    )
    return run_all(FolderStore(tmp_path_factory.mktemp("strong")), study, "c1")


@pytest.mark.servers  # Great Expectations takes some seconds to import
def test_every_artifact_lies_under_its_name_in_the_design(strong: Campaign) -> None:
    keys, found = strong.keys, set(strong.store.keys(""))
    expected = {keys.frozen_study(), keys.plan(), keys.design(), keys.trials(), keys.report("report.html")}
    for size in SIZES:
        expected |= {keys.front(size), keys.hypervolume(size), keys.sizing(size)}
        expected |= {
            keys.confirmation(size, name) for name in ("candidates.parquet", "trials.parquet", "decision.json")
        }
        expected |= {keys.report(f"{size}/producer.properties")}
    assert expected <= found


@pytest.mark.servers
def test_a_large_planted_gain_is_recommended_and_traces_to_fresh_repetitions(strong: Campaign) -> None:
    decision = strong.read_record(strong.keys.confirmation(1024, "decision.json"), Decision)
    stored = {r.repetition_id for r in strong.read_repetitions(strong.keys.confirmation(1024, "repetitions/"))}

    assert decision.verdict == "recommended"
    used = {name for gain in decision.gains for name in [*gain.baseline_repetition_ids, *gain.candidate_repetition_ids]}
    assert used
    assert used <= stored
    assert all(name.startswith("gain-") for name in used)


@pytest.mark.servers
def test_quick_has_too_little_evidence_and_keeps_the_baseline(tmp_path: Path) -> None:
    campaign = run_all(FolderStore(tmp_path), study_of(record_sizes_bytes=[8192]), "c1")
    cards = campaign.store.get(campaign.keys.report("cards.txt")).decode()
    decision = campaign.read_record(campaign.keys.confirmation(8192, "decision.json"), Decision)

    assert decision.verdict == "keep_baseline_not_enough_evidence"
    assert decision.recommended_configuration_id == campaign.study.baseline_id()
    assert "not enough evidence" in cards.lower()


@pytest.mark.servers
def test_the_same_study_data_and_seed_give_the_same_front(strong: Campaign, tmp_path: Path) -> None:
    again = run_all(FolderStore(tmp_path), strong.study, "c1")

    for size in SIZES:
        assert again.store.get(again.keys.front(size)) == strong.store.get(strong.keys.front(size))


@pytest.mark.fast
def test_going_on_with_a_campaign_under_other_values_is_refused(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    design.run(store, study_of(), "c1", FakeCluster())
    frozen = store.get(CampaignKeys("quick", "c1").design())
    design.run(store, study_of(), "c1", FakeCluster())

    assert store.get(CampaignKeys("quick", "c1").design()) == frozen
    with pytest.raises(BadInputError, match="started with other values"):
        design.run(store, study_of(seed=43), "c1", FakeCluster())


@pytest.mark.fast
def test_a_refused_plan_freezes_nothing(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    cluster = {"bootstrap_servers": "b:9092", "ceiling_mib_s": 4.0, "ceiling_gib": 9.0}

    with pytest.raises(PlanError, match="consent"):
        design.run(store, study_of(cluster=cluster), "c1", FakeCluster())
    assert store.keys("") == []


@pytest.mark.fast
def test_an_interrupted_campaign_on_a_foreign_cluster_goes_on_once_consent_is_given(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    cluster = {"bootstrap_servers": "b:9092", "ceiling_mib_s": 4.0, "ceiling_gib": 9.0, "consent": True}
    manifest = design.run(store, study_of(cluster=cluster), "c1", FakeCluster())

    assert json.loads(manifest.model_dump_json())["record_sizes_bytes"] == SIZES
    with pytest.raises(PlanError, match="consent"):
        design.run(store, study_of(cluster=cluster | {"consent": False}), "c1", FakeCluster())
