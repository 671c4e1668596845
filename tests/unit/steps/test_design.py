from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.comparability import differences_of_campaigns
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.sent_text import delete_unless_kept, sent_text
from kafka_pareto.drivers.common.systems import ClusterSystem
from kafka_pareto.errors import BadInputError, ConsentError, PlanError
from kafka_pareto.steps import design
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.retention import Retention
from kafka_pareto.study.retune import Retune
from kafka_pareto.study.sections import ForeignCluster
from kafka_pareto.study.study_file import load_study, parse_study, read_corpus
from tests.fakes import FakeCluster
from tests.recorded import FIXTURES

pytestmark = pytest.mark.fast

GOOD = FIXTURES / "studies" / "good"
STUDY = load_study(GOOD / "payload_from_a_file.yaml")
KEYS = CampaignKeys(STUDY.name, "c1")


def test_the_text_is_kept_with_the_campaign_and_the_frozen_study_keeps_its_name(tmp_path: Path):
    store, corpus = FolderStore(tmp_path), read_corpus(STUDY, GOOD, "study")
    manifest = design.run(store, STUDY, "c1", ClusterSystem(FakeCluster()), corpus)

    assert store.get(KEYS.payload()) == (GOOD / "log_lines.txt").read_bytes()
    assert "Überweisung" in store.get(KEYS.payload()).decode()
    assert parse_study(store.get(KEYS.frozen_study()).decode(), "frozen") == STUDY
    assert KEYS.payload() in manifest.artifacts


def test_a_campaign_resumes_only_with_the_same_text(tmp_path: Path):
    store = FolderStore(tmp_path)
    design.run(store, STUDY, "c1", ClusterSystem(FakeCluster()), "one text")
    design.run(store, STUDY, "c1", ClusterSystem(FakeCluster()), "one text")

    with pytest.raises(BadInputError, match=r"another text in workload\.payload\.file"):
        design.run(store, STUDY, "c1", ClusterSystem(FakeCluster()), "another text")
    assert store.get(KEYS.payload()) == b"one text"


def test_records_that_are_not_kept_are_deleted_at_the_end_and_restored_to_resume(tmp_path: Path):
    store, system = FolderStore(tmp_path), ClusterSystem(FakeCluster())
    study = STUDY.model_copy(update={"workload": STUDY.workload.model_copy(update={"keep_sample": False})})
    design.run(store, study, "c1", system, "secret records")
    design.run(store, STUDY, "c2", system, "secret records")
    campaign, kept = Campaign.at(store, KEYS), Campaign.at(store, CampaignKeys(STUDY.name, "c2"))

    for each in (campaign, campaign, kept):
        delete_unless_kept(each)

    assert not [path for path in tmp_path.rglob("c1/**/*") if path.is_file() and b"secret" in path.read_bytes()]
    assert sent_text(kept) == "secret records"
    with pytest.raises(BadInputError, match=rf"{KEYS.prefix}: its records were deleted .* from its first step, design"):
        sent_text(campaign)
    assert differences_of_campaigns(campaign, kept) == []
    with pytest.raises(BadInputError, match=r"another text in workload\.payload\.file"):
        design.run(store, study, "c1", system, "other records")
    design.run(store, study, "c1", system, "secret records")
    assert sent_text(campaign) == "secret records"


def test_a_study_that_names_no_file_has_no_text(tmp_path: Path):
    study = load_study(GOOD / "compressible_payload.yaml")
    store = FolderStore(tmp_path)
    design.run(store, study, "c1", ClusterSystem(FakeCluster()), read_corpus(study, GOOD, "study"))

    assert CampaignKeys(study.name, "c1").payload() not in store.keys("")


def test_a_campaign_resumes_whatever_its_study_now_says_about_checks_and_retention(tmp_path: Path):
    store = FolderStore(tmp_path)
    later = STUDY.model_copy(update={"retune": Retune(schedule="@daily"), "retention": Retention(days=30)})
    design.run(store, STUDY, "c1", ClusterSystem(FakeCluster()), "one text")

    assert design.run(store, later, "c1", ClusterSystem(FakeCluster()), "one text").campaign == "c1"


def test_a_campaign_resumes_only_under_the_same_values(tmp_path: Path):
    store, cluster = FolderStore(tmp_path), ClusterSystem(FakeCluster())
    design.run(store, STUDY, "c1", cluster, "one text")

    with pytest.raises(BadInputError, match="started with other values"):
        design.run(store, STUDY.model_copy(update={"seed": STUDY.seed + 1}), "c1", cluster, "one text")


def test_a_foreign_cluster_is_planned_and_loaded_with_consent_alone(tmp_path: Path):
    store, system = FolderStore(tmp_path), ClusterSystem(FakeCluster())
    foreign = ForeignCluster(bootstrap_servers="b:9092", ceiling_mib_s=4.0, ceiling_gib=9.0)
    asking = STUDY.model_copy(update={"cluster": foreign})
    with pytest.raises(PlanError, match="consent"):
        design.run(store, asking, "c1", system, "one text")
    assert store.keys("") == []

    given = asking.model_copy(update={"cluster": foreign.model_copy(update={"consent": True})})
    assert design.run(store, given, "c1", system, "one text").cases == list(STUDY.cases)
    with pytest.raises(ConsentError, match="consent"):
        design.run(store, asking, "c1", system, "one text")
