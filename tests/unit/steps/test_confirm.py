from __future__ import annotations

import logging
from pathlib import Path

import pandas as pd
import pytest

from kafka_pareto.decision.decision import Decision
from kafka_pareto.drivers.common.load_tool import LoadRequest
from kafka_pareto.drivers.producer.runner import ProducerRunner
from kafka_pareto.errors import ArtifactError
from kafka_pareto.report.answer import decision_line
from kafka_pareto.steps import confirm
from tests.fakes import FakeCluster, FakeLoadTool, fake_testbed
from tests.unit.checking import WINNER, WINNER_ID
from tests.unit.confirming import CONFIRMATION, campaign_in
from tests.unit.measuring import CASE, measuring, quick

pytestmark = [pytest.mark.fast, pytest.mark.slow]


def test_no_point_of_the_front_that_lost_records_in_the_design_is_a_candidate():
    front = pd.DataFrame({"configuration_id": ["a", "b", "c"]})
    trials = pd.DataFrame({"configuration_id": ["b", "c", "d"], "repetitions_lost_records": [1, 0, 2]})

    assert confirm.without_losses(front, trials).configuration_id.tolist() == ["a", "c"]


def test_candidates_that_cannot_be_read_are_not_replaced_by_others(tmp_path: Path):
    with measuring(tmp_path) as m:
        key = m.campaign.keys.confirmation(CASE, "candidates.parquet")
        m.campaign.store.put(key, b"damaged")

        with pytest.raises(ArtifactError, match=r"candidates\.parquet"):
            confirm.run(m.campaign, CASE, ProducerRunner(m.campaign, CASE, m.testbed))
        assert m.campaign.store.get(key) == b"damaged"
        assert m.tool.requests == []


def test_the_log_ends_with_the_decision(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "kafka_pareto")
    study = quick(record_sizes_bytes=[int(CASE)], confirmation=CONFIRMATION)
    campaign = campaign_in(tmp_path, study, WINNER)
    with fake_testbed(campaign, CASE) as testbed:
        confirm.run(campaign, CASE, ProducerRunner(campaign, CASE, testbed))
    decision = campaign.read_record(campaign.keys.confirmation(CASE, "decision.json"), Decision)
    assert caplog.messages[-1] == f"decision: {decision_line(decision, study.declaration)}"
    assert caplog.messages[-1].startswith("decision: change, throughput +")


def test_a_pick_under_whose_load_leaders_move_again_and_again_is_out(tmp_path: Path):
    study = quick(record_sizes_bytes=[int(CASE)], confirmation=CONFIRMATION)
    campaign = campaign_in(tmp_path, study, WINNER)
    with fake_testbed(campaign, CASE) as testbed:
        tool, cluster = testbed.load_tool, testbed.cluster
        assert isinstance(tool, FakeLoadTool)
        assert isinstance(cluster, FakeCluster)

        def move_a_leader_at_the_winners_first_attempt(_: LoadRequest) -> None:
            last = [request.properties["batch.size"] == WINNER["batch.size"] for request in tool.requests[-2:]]
            if last[-1] and last != [True, True]:
                cluster.leaders = [*cluster.leaders[1:], cluster.leaders[0]]

        tool.before_run = move_a_leader_at_the_winners_first_attempt
        confirm.run(campaign, CASE, ProducerRunner(campaign, CASE, testbed))
    decision = campaign.read_record(campaign.keys.confirmation(CASE, "decision.json"), Decision)
    assert (decision.verdict, decision.pick_configuration_id) == ("keep_failed_more", WINNER_ID)
    assert (decision.pick_counts.failed, decision.baseline_counts.upsets) == (0, 0)
    assert decision.pick_counts.upsets > 2
