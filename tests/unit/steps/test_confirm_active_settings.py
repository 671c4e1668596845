from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import InForceKeys
from kafka_pareto.decision.decision import Decision, FoundActiveSettings
from kafka_pareto.drivers.common.load_tool import LoadResult
from kafka_pareto.drivers.producer.runner import ProducerRunner
from kafka_pareto.rollout.versions import file_of
from kafka_pareto.steps import confirm
from kafka_pareto.study.factors import Configuration, configuration_id
from kafka_pareto.study.tune import Tune
from tests.fakes import FakeLoadTool, fake_testbed
from tests.unit.checking import WINNER, WINNER_ID, activate, confirmed
from tests.unit.confirming import campaign_in, measured
from tests.unit.measuring import CASE, quick

pytestmark = [pytest.mark.fast, pytest.mark.slow]

MIDDLING: Configuration = {"batch.size": 32768, "linger.ms": 5, "acks": "all", "compression.type": "snappy"}
MIDDLING_ID = configuration_id(MIDDLING)
CONFIRMATION = {"choice_blocks": 3, "gain_blocks": 10, "minimum_blocks": 10, "final_blocks": 4, "more_blocks": 6}


def study_of(**changes: Any) -> Tune:
    return quick(record_sizes_bytes=[int(CASE)], **{"confirmation": CONFIRMATION, **changes})


def confirm_on_fake(campaign: Campaign) -> Decision:
    with fake_testbed(campaign, CASE) as testbed:
        confirm.run(campaign, CASE, ProducerRunner(campaign, CASE, testbed))
    return campaign.read_record(campaign.keys.confirmation(CASE, "decision.json"), Decision)


def test_better_than_the_defaults_but_worse_than_the_active_settings_keeps_them_active(tmp_path: Path) -> None:
    settings = activate(confirmed(tmp_path))
    campaign = campaign_in(tmp_path, study_of(), MIDDLING)
    decision = confirm_on_fake(campaign)

    baseline_id = campaign.study.baseline_id()
    assert measured(campaign, "choice") == {baseline_id: 3, WINNER_ID: 3, MIDDLING_ID: 3}
    assert (decision.verdict, decision.pick_configuration_id) == ("keep_no_gain", None)
    assert decision.recommended_configuration_id == WINNER_ID
    assert measured(campaign, "gain") == {}
    stored = campaign.store.get(InForceKeys("quick", CASE).file("producer.properties")).decode()
    assert stored == file_of(settings, "producer.properties"), "whoever added the version was killed before its files"


def test_better_than_the_active_settings_is_recommended_by_blocks_with_all_three(tmp_path: Path) -> None:
    activate(
        confirmed(tmp_path),
        configuration_id=MIDDLING_ID,
        configuration=dict(MIDDLING),
        properties=study_of().properties(MIDDLING),
    )
    campaign = campaign_in(tmp_path, study_of(), WINNER)
    decision = confirm_on_fake(campaign)

    baseline_id = campaign.study.baseline_id()
    assert (decision.verdict, decision.recommended_configuration_id) == ("recommended", WINNER_ID)
    assert measured(campaign, "gain") == {baseline_id: 10, MIDDLING_ID: 10, WINNER_ID: 10}
    assert measured(campaign, "final") == {baseline_id: 4, MIDDLING_ID: 4, WINNER_ID: 4}
    assert decision.in_force is not None
    assert decision.in_force.version == decision.newest_version == 1
    used = {name for gain in decision.gains for name in gain.candidate_repetition_ids}
    assert len(used) == decision.blocks_used == 14
    assert sum(name.startswith("final-") for name in used) == decision.final_blocks == 4
    assert {gain.objective for gain in decision.gains_over_baseline} == set(campaign.study.objective_names)


def test_settings_activated_after_the_confirmation_began_are_not_its_reference(tmp_path: Path) -> None:
    earlier = confirmed(tmp_path)
    campaign = campaign_in(tmp_path, study_of(), MIDDLING)
    key = campaign.keys.confirmation(CASE, "in_force.json")
    campaign.write_record(key, FoundActiveSettings())
    activate(earlier)
    decision = confirm_on_fake(campaign)
    assert (decision.in_force, decision.newest_version) == (None, 0)
    assert measured(campaign, "choice").keys() == {campaign.study.baseline_id(), MIDDLING_ID}


def test_a_confirmation_begun_by_an_earlier_release_resumes_unchanged(tmp_path: Path) -> None:
    campaign = campaign_in(tmp_path, study_of(), MIDDLING)
    confirm_on_fake(campaign)
    prefix = campaign.keys.confirmation(CASE, "repetitions/")
    begun = [key for key in campaign.store.keys(prefix) if "/final-" not in key]
    for key in {*campaign.store.keys(prefix), campaign.keys.confirmation(CASE, "in_force.json")} - {*begun}:
        campaign.store.delete(key)
    activate(confirmed(tmp_path))
    decision = confirm_on_fake(campaign)
    assert (decision.in_force, decision.newest_version, decision.final_blocks) == (None, None, 0)
    assert campaign.store.keys(prefix) == begun


def test_active_settings_confirmed_by_another_workload_do_not_count_and_the_decision_says_why(
    tmp_path: Path,
) -> None:
    activate(confirmed(tmp_path))
    campaign = campaign_in(tmp_path, study_of(workload={"topic_partitions": 6}), MIDDLING)
    decision = confirm_on_fake(campaign)
    assert (decision.in_force, decision.newest_version) == (None, 1)
    assert decision.in_force_left_out == ["workload.topic_partitions: 3 then, 6 now"]
    assert decision.recommended_configuration_id == MIDDLING_ID
    assert WINNER_ID not in measured(campaign, "choice")


def test_active_settings_that_break_a_current_constraint_are_measured_and_named(tmp_path: Path) -> None:
    activate(confirmed(tmp_path))
    campaign = campaign_in(tmp_path, study_of(constraints=["batch.size <= 65536"]), MIDDLING)
    decision = confirm_on_fake(campaign)
    assert decision.active_breaks_rules
    assert decision.in_force is not None
    assert [str(each) for each in decision.in_force.constraints_broken] == ["batch.size <= 65536"]


def test_an_active_baseline_is_measured_once_in_each_block(tmp_path: Path) -> None:
    baseline = study_of().baseline_configuration()
    activate(confirmed(tmp_path), configuration_id=configuration_id(baseline), configuration=baseline, is_baseline=True)
    campaign = campaign_in(tmp_path, study_of(), MIDDLING)
    decision = confirm_on_fake(campaign)
    assert (decision.in_force, decision.newest_version) == (None, 1)
    assert measured(campaign, "choice") == {campaign.study.baseline_id(): 3, MIDDLING_ID: 3}


@pytest.mark.parametrize(("noise", "final", "verdict"), [(0.0, 4, "recommended"), (0.4, 10, "ask_a_person")])
def test_more_blocks_follow_while_harm_is_inconclusive_and_then_approval_is_required(
    tmp_path: Path, noise: float, final: int, verdict: str
) -> None:
    campaign, rng = campaign_in(tmp_path, study_of(), WINNER), np.random.default_rng(3)

    def equal_but_noisy(result: LoadResult) -> LoadResult:
        assert result.figures is not None
        p95_ms = 20 * float(np.exp(rng.normal(0, noise))) + result.figures.throughput_records_s * 1e-9
        tail = dict.fromkeys(("latency_p99_ms", "latency_p999_ms", "latency_max_ms"), p95_ms + 1)
        body = dict.fromkeys(("latency_p50_ms", "latency_avg_ms", "latency_from_send_p95_ms"), p95_ms / 2)
        return replace(result, figures=replace(result.figures, latency_p95_ms=p95_ms, **tail, **body))

    with fake_testbed(campaign, CASE) as testbed:
        assert isinstance(testbed.load_tool, FakeLoadTool)
        testbed.load_tool.after_run = equal_but_noisy
        confirm.run(campaign, CASE, ProducerRunner(campaign, CASE, testbed))
    decision = campaign.read_record(campaign.keys.confirmation(CASE, "decision.json"), Decision)
    assert (measured(campaign, "final")[WINNER_ID], decision.verdict) == (final, verdict)
