from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.decision.decision import Decision
from kafka_pareto.drivers.common.load_tool import LoadResult
from kafka_pareto.drivers.producer.runner import ProducerRunner
from kafka_pareto.steps import confirm
from kafka_pareto.study.tune import Tune
from tests.fakes import FakeLoadTool, fake_testbed
from tests.unit.checking import WINNER, WINNER_ID
from tests.unit.confirming import CONFIRMATION, Change, campaign_in, measured, with_p95
from tests.unit.measuring import CASE, quick

pytestmark = [pytest.mark.fast, pytest.mark.slow]


def study_of(**confirmation: object) -> Tune:
    return quick(record_sizes_bytes=[int(CASE)], confirmation={**CONFIRMATION, **confirmation})


def confirmed_by(
    campaign: Campaign, change: Change | None = None, before_run: Callable[[], None] | None = None
) -> Decision:
    with fake_testbed(campaign, CASE) as testbed:
        assert isinstance(testbed.load_tool, FakeLoadTool)
        if change:
            testbed.load_tool.after_run = change
        if before_run:
            testbed.load_tool.before_run = lambda _: before_run()
        confirm.run(campaign, CASE, ProducerRunner(campaign, CASE, testbed))
    return campaign.read_record(campaign.keys.confirmation(CASE, "decision.json"), Decision)


def test_a_clear_gain_ends_the_blocks_early_and_some_more_have_to_bear_it_out(tmp_path: Path) -> None:
    campaign = campaign_in(tmp_path, study_of(), WINNER)
    decision = confirmed_by(campaign)
    gain, final = measured(campaign, "gain")[WINNER_ID], measured(campaign, "final")[WINNER_ID]
    assert decision.verdict == "recommended"
    assert 4 <= gain <= 8
    assert final == 3
    assert (decision.blocks_used, decision.final_blocks, decision.stopping) == (gain + final, final, "sequential")
    assert {len(each.candidate_repetition_ids) for each in decision.main_gains} == {gain + final}
    assert {each.resolution for each in decision.main_gains} == {"better"}


def test_a_killed_confirmation_ends_where_it_would_have(tmp_path: Path) -> None:
    whole, cut = (campaign_in(tmp_path / name, study_of(), WINNER) for name in ("whole", "cut"))
    expected, loads = confirmed_by(whole), iter(range(9))

    def killed() -> None:
        if next(loads, None) is None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        confirmed_by(cut, before_run=killed)
    assert confirmed_by(cut) == expected
    assert [measured(each, "gain") for each in (whole, cut)] == [measured(whole, "gain")] * 2
    assert confirmed_by(cut) == expected


def test_an_inconclusive_candidate_takes_all_blocks_and_needs_approval(tmp_path: Path) -> None:
    campaign, rng = campaign_in(tmp_path, study_of(), WINNER), np.random.default_rng(3)
    decision = confirmed_by(campaign, with_p95(lambda: 20 * float(np.exp(rng.normal(0, 0.4)))))
    assert measured(campaign, "gain")[WINNER_ID] == 12
    assert (measured(campaign, "final")[WINNER_ID], decision.verdict) == (3, "ask_a_person")
    unresolved = next(each for each in decision.gains if each.objective == "p95_latency_ms")
    assert unresolved.resolution == "not resolved"


def test_harm_ends_the_blocks_and_the_active_settings_stay(tmp_path: Path) -> None:
    campaign = campaign_in(tmp_path, study_of(), WINNER)
    with fake_testbed(campaign, CASE) as testbed:
        assert isinstance(testbed.load_tool, FakeLoadTool)
        requests = testbed.load_tool.requests

        def slower(result: LoadResult) -> LoadResult:
            picked = requests[-1].properties.get("batch.size") == WINNER["batch.size"]
            chosen = len(campaign.store.keys(campaign.keys.confirmation(CASE, "repetitions/"))) >= 4
            noise = float(np.exp(np.random.default_rng(len(requests)).normal(0, 0.05)))
            return with_p95(lambda: (60 if picked and chosen else 20) * noise)(result)

        testbed.load_tool.after_run = slower
        confirm.run(campaign, CASE, ProducerRunner(campaign, CASE, testbed))
    decision = campaign.read_record(campaign.keys.confirmation(CASE, "decision.json"), Decision)
    assert decision.verdict == "keep_harmed"
    assert measured(campaign, "gain")[WINNER_ID] < 10
    assert measured(campaign, "final")[WINNER_ID] == decision.final_blocks == 3
