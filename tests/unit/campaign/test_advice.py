"""A campaign follows the advice that its design has room for, and keeps to it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kafka_pareto.campaign.advice import NO_ROOM, FollowedAdvice, follow
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.tables import DESIGN_COLUMNS
from kafka_pareto.drivers.common.systems import ClusterSystem
from kafka_pareto.settings import load_settings
from kafka_pareto.steps import design
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.advice import load_advice
from kafka_pareto.study.study_file import load_study
from tests.fakes import FakeCluster
from tests.recorded import STUDIES

pytestmark = pytest.mark.fast

ADVICE = load_advice(load_settings().advice)
SHIPPED = {name: load_study(STUDIES / f"{name}.yaml") for name in ("quick", "cold_burst", "steady")}


@pytest.mark.parametrize("name", ["cold_burst", "steady"])
def test_the_shipped_studies_span_the_advice(name: str) -> None:
    study = SHIPPED[name]
    for followed in follow(study, ADVICE).followed:
        reasons = {each.left_out for each in followed.cases if each.configuration is None}
        assert reasons <= {"it breaks the study's rules"}, followed.advice.name


def test_at_most_two_thirds_of_a_design_are_advice_and_the_ends_alternate() -> None:
    study = SHIPPED["quick"]
    found = follow(study, ADVICE)
    assert [len(found.configurations(case)) for case in study.cases] == [4] * len(study.cases)
    at_8192 = [each for each in found.followed if each.cases[1].configuration is not None]
    assert Counter(each.advice.meant_for for each in at_8192) == {"throughput": 2, "latency": 1, "balance": 1}
    assert NO_ROOM in {each.cases[1].left_out for each in found.followed}


def test_two_that_advise_the_same_are_measured_once_and_both_named() -> None:
    study = SHIPPED["cold_burst"]
    found = follow(study, ADVICE)
    shared = [titles for titles in found.titles("8192").values() if len(titles) > 1]
    assert len(found.configurations("8192")) < len(ADVICE)
    assert ["Conduktor, latency", "Confluent, latency", "Kafka's defaults before 4.0"] in shared


@pytest.mark.slow
def test_the_design_begins_with_the_advice_and_later_files_do_not_change_it(tmp_path: Path) -> None:
    study, store = SHIPPED["quick"], FolderStore(tmp_path)
    design.run(store, study, "c1", ClusterSystem(FakeCluster()), advice=ADVICE)
    campaign = Campaign(study, CampaignKeys(study.name, "c1"), store)
    before = campaign.read_table(campaign.keys.design(), DESIGN_COLUMNS)
    followed = campaign.read_record(campaign.keys.advice(), FollowedAdvice)
    for case in study.cases:
        drawn = before[(before.case == case) & ~before.is_baseline]
        assert list(drawn.configuration_id[:4]) == list(followed.titles(case))
        assert len(drawn) == study.design.configurations
    manifest = design.run(store, study, "c1", ClusterSystem(FakeCluster()), advice=ADVICE[:1])
    assert campaign.read_table(campaign.keys.design(), DESIGN_COLUMNS).equals(before)
    assert campaign.keys.advice() in manifest.artifacts
