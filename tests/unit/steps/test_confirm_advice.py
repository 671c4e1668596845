from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import pytest

from kafka_pareto.campaign.advice import AdviceInCases, FollowedAdvice, InCase
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.tables import CANDIDATE_COLUMNS
from kafka_pareto.decision.against_advice import best_advice
from kafka_pareto.decision.decision import Decision
from kafka_pareto.decision.harm import harm_margin
from kafka_pareto.drivers.common.load_tool import LoadRequest
from kafka_pareto.drivers.producer.runner import ProducerRunner
from kafka_pareto.report.advice import advice_of
from kafka_pareto.report.reasons import headline_of
from kafka_pareto.steps import confirm
from kafka_pareto.study.advice import Advice
from kafka_pareto.study.factors import Configuration, configuration_id
from kafka_pareto.study.tune import Tune
from tests.fakes import FakeLoadTool, fake_testbed
from tests.unit.checking import WINNER, WINNER_ID
from tests.unit.confirming import CONFIRMATION, campaign_in, measured, with_p95
from tests.unit.measuring import CASE, quick

pytestmark = [pytest.mark.fast, pytest.mark.slow]

ADVISED: Configuration = {**WINNER, "batch.size": 65536}
ADVISED_ID = configuration_id(ADVISED)
EQUAL: Configuration = {**WINNER, "batch.size": 262144}  # holds more records than raise the fake's throughput
POOR: Configuration = {**WINNER, "batch.size": 8192, "compression.type": "gzip", "linger.ms": 100}
CANDIDATES, REPETITIONS = (f"quick/c2/06_confirmation/{CASE}/{name}" for name in ("candidates.parquet", "repetitions/"))
STUDY = quick(record_sizes_bytes=[int(CASE)], confirmation=CONFIRMATION, advice=True)


def following(folder: Path, advised: Configuration, *candidates: Configuration, study: Tune = STUDY) -> Campaign:
    """Return a campaign that follows one advice, ready to confirm these candidates."""
    campaign = campaign_in(folder, study, *candidates)
    advice = Advice(
        name="guide",
        title="A guide",
        meant_for="throughput",
        source="a book",
        read_on=date(2026, 11, 23),
        properties=dict(advised),
    )
    followed = AdviceInCases(advice=advice, cases=[InCase(case=CASE, configuration=advised)])
    campaign.write_record(campaign.keys.advice(), FollowedAdvice(followed=[followed]))
    return campaign


def decided(campaign: Campaign, *, winner_later_ms: float | None = None) -> Decision:
    """Confirm, with a different p95 latency for the winner than the others' 20 ms from the gain blocks on."""
    with fake_testbed(campaign, CASE) as testbed:
        tool = testbed.load_tool
        assert isinstance(tool, FakeLoadTool)
        if winner_later_ms is not None:

            def slower(result):
                is_winner = tool.requests[-1].properties["batch.size"] == WINNER["batch.size"]
                in_choice = len(campaign.store.keys(campaign.keys.confirmation(CASE, "repetitions/"))) < 6
                noise = 1 + 0.02 * (len(tool.requests) % 5)
                return with_p95(lambda: (winner_later_ms if is_winner and not in_choice else 20) * noise)(result)

            tool.after_run = slower
        confirm.run(campaign, CASE, ProducerRunner(campaign, CASE, testbed))
    return campaign.read_record(campaign.keys.confirmation(CASE, "decision.json"), Decision)


def decided_equal(
    campaign: Campaign, *, pick_later_ms: float, noise: float, killed_after: int | None = None
) -> Decision:
    """Confirm a pick with this p95 latency after the choice, beside advice of 20 ms and equal throughput."""
    with fake_testbed(campaign, CASE) as testbed:
        tool = testbed.load_tool
        assert isinstance(tool, FakeLoadTool)
        repetitions = campaign.keys.confirmation(CASE, "repetitions/")

        def changed(result):
            properties, number = tool.requests[-1].properties, len(campaign.store.keys(repetitions))
            if number == killed_after:
                raise KeyboardInterrupt
            after = pick_later_ms if number >= CONFIRMATION["choice_blocks"] * 3 else 15.0
            typical = {WINNER["batch.size"]: after, EQUAL["batch.size"]: 20.0}.get(properties["batch.size"], 60.0)
            drawn = np.random.default_rng([number, 5]).normal(0, noise)
            return with_p95(lambda: typical * float(np.exp(drawn)))(result)

        tool.after_run = changed
        confirm.run(campaign, CASE, ProducerRunner(campaign, CASE, testbed))
    return campaign.read_record(campaign.keys.confirmation(CASE, "decision.json"), Decision)


def decided_losing(campaign: Campaign, loser: Configuration) -> Decision:
    """Confirm with a record lost in each repetition of one configuration after the choice."""
    with fake_testbed(campaign, CASE) as testbed:
        tool = testbed.load_tool
        assert isinstance(tool, FakeLoadTool)

        def lose(request: LoadRequest) -> None:
            in_choice = len(campaign.store.keys(campaign.keys.confirmation(CASE, "repetitions/"))) < 6
            is_loser = request.properties["batch.size"] == loser["batch.size"]
            tool.lost_records = int(is_loser and not in_choice)

        tool.before_run = lose
        confirm.run(campaign, CASE, ProducerRunner(campaign, CASE, testbed))
    return campaign.read_record(campaign.keys.confirmation(CASE, "decision.json"), Decision)


def test_the_best_advice_is_in_every_block_after_the_choice_and_the_card_compares_the_pick_with_it(
    tmp_path: Path,
) -> None:
    campaign = following(tmp_path, ADVISED, ADVISED, WINNER)
    decision = decided(campaign)
    advice = decision.advice
    assert advice is not None
    assert (decision.verdict, decision.pick_configuration_id) == ("recommended", WINNER_ID)
    assert (advice.configuration_id, advice.titles, advice.in_place_of) == (ADVISED_ID, ["A guide"], None)
    for phase in ("gain", "final"):
        assert measured(campaign, phase)[ADVISED_ID] == measured(campaign, phase)[WINNER_ID]
    blocks = measured(campaign, "gain")[WINNER_ID] + measured(campaign, "final")[WINNER_ID]
    assert {len(gain.reference_repetition_ids) for gain in advice.gains} == {blocks}
    assert tuple(gain.objective for gain in advice.gains) == STUDY.means
    (line,) = advice_of(decision)
    assert line.startswith("compared with the best advice, A guide (lz4, 64 KiB, linger 0 ms, acks all): p95 latency ")


def test_a_pick_that_is_published_advice_says_so_and_has_no_advice_block(tmp_path: Path) -> None:
    campaign = following(tmp_path, WINNER, WINNER)
    decision = decided(campaign)
    assert decision.advice is not None
    assert (decision.advice.configuration_id, decision.advice.gains) == (WINNER_ID, [])
    assert advice_of(decision) == ["the pick is published advice: A guide (lz4, 128 KiB, linger 0 ms, acks all)."]
    assert set(measured(campaign, "gain")) == {STUDY.baseline_id(), WINNER_ID}


def test_active_advice_is_not_a_candidate_and_does_not_replace_the_pick(tmp_path: Path) -> None:
    campaign = following(tmp_path, ADVISED, WINNER)
    study, candidates = campaign.tune, campaign.read_table(CANDIDATES, CANDIDATE_COLUMNS)
    decided(campaign)
    choice = [r for r in campaign.read_repetitions(REPETITIONS) if r.phase == "choice"]
    as_in_force = [r.with_values({"configuration_id": ADVISED_ID}) for r in choice if r.is_baseline]
    found = best_advice(study, candidates, [*choice, *as_in_force], [ADVISED_ID], ADVISED_ID)
    assert found is None


@pytest.mark.parametrize(("compare_advice", "titles"), [("if_better", None), ("always", ["A guide"])])
def test_advice_that_beats_nothing_is_measured_with_the_pick_on_request(
    tmp_path: Path, compare_advice: str, titles: list[str] | None
) -> None:
    asked = {**CONFIRMATION, "compare_advice": compare_advice}
    study = quick(record_sizes_bytes=[int(CASE)], confirmation=asked, advice=True)
    campaign = following(tmp_path, POOR, POOR, WINNER, study=study)
    decision = decided(campaign)
    assert (decision.verdict, decision.pick_configuration_id) == ("recommended", WINNER_ID)
    fresh = {**measured(campaign, "gain"), **measured(campaign, "final")}
    if titles is None:
        assert decision.advice is None
        assert advice_of(decision) == []
        assert configuration_id(POOR) not in fresh
        return
    advice = decision.advice
    assert advice is not None
    assert (advice.configuration_id, advice.titles, advice.in_place_of) == (configuration_id(POOR), titles, None)
    for phase in ("gain", "final"):
        assert measured(campaign, phase)[configuration_id(POOR)] == measured(campaign, phase)[WINNER_ID]
    assert not any(gain.may_be_worse_by(harm_margin(study.confirmation)) for gain in advice.gains)
    (line,) = advice_of(decision)
    assert line.startswith("compared with the best advice, A guide (")
    assert line.endswith("no mean is worse by more than 10 %.")


def test_advice_that_lost_records_is_never_measured_with_the_pick(tmp_path: Path) -> None:
    study = quick(
        record_sizes_bytes=[int(CASE)], confirmation={**CONFIRMATION, "compare_advice": "always"}, advice=True
    )
    campaign = following(tmp_path, POOR, POOR, WINNER, study=study)
    candidates = campaign.read_table(CANDIDATES, CANDIDATE_COLUMNS)
    decided(campaign)
    choice = [r for r in campaign.read_repetitions(REPETITIONS) if r.phase == "choice"]
    poor_id = configuration_id(POOR)
    lost = [r.with_values({"outcome": "records_lost"}) if r.configuration_id == poor_id else r for r in choice]
    assert best_advice(study, candidates, choice, [poor_id]) == poor_id
    # Where others are active the baseline, too, is a candidate, and better; it is nobody's advice.
    assert best_advice(study, candidates, choice, [poor_id], WINNER_ID) == poor_id
    assert best_advice(study, candidates, lost, [poor_id]) is None


def test_advice_that_loses_records_beside_the_pick_does_not_count_against_it(tmp_path: Path) -> None:
    campaign = following(tmp_path, ADVISED, ADVISED, WINNER)
    decision = decided_losing(campaign, ADVISED)
    assert (decision.verdict, decision.pick_configuration_id) == ("recommended", WINNER_ID)
    assert decision.advice is None
    assert measured(campaign, "final")[WINNER_ID] == CONFIRMATION["final_blocks"]


def test_advice_replaces_a_pick_that_loses_records_and_the_card_says_that_it_was_not_recommended(
    tmp_path: Path,
) -> None:
    campaign = following(tmp_path, ADVISED, ADVISED, WINNER)
    decision = decided_losing(campaign, WINNER)
    assert decision.advice is not None
    assert (decision.verdict, decision.pick_configuration_id) == ("recommended", ADVISED_ID)
    assert measured(campaign, "gain")[ADVISED_ID] <= 2 * CONFIRMATION["minimum_blocks"]
    (line,) = advice_of(decision)
    assert "was not recommended over the baseline; compared with the advice: " in line


def test_advice_replaces_a_pick_that_is_rejected_by_the_blocks_that_both_are_in(tmp_path: Path) -> None:
    campaign = following(tmp_path, ADVISED, ADVISED, WINNER)
    decision = decided(campaign, winner_later_ms=90)
    advice = decision.advice
    assert advice is not None
    assert (decision.verdict, decision.pick_configuration_id) == ("recommended", ADVISED_ID)
    assert advice.in_place_of == dict(WINNER)
    for phase in ("gain", "final"):
        assert measured(campaign, phase)[ADVISED_ID] == measured(campaign, phase)[WINNER_ID]
    blocks = measured(campaign, "gain")[ADVISED_ID] + measured(campaign, "final")[ADVISED_ID]
    assert decision.blocks_used == blocks
    assert {len(gain.candidate_repetition_ids) for gain in decision.gains} == {blocks}
    assert headline_of(decision) == "CHANGE RECOMMENDED: published advice"
    (line,) = advice_of(decision)
    assert line.startswith(
        "the tested settings are the advice of A guide (lz4, 64 KiB, linger 0 ms, acks all). The search's pick (lz4, "
    )
    assert "was not recommended over the baseline; compared with the advice: p95 latency +3" in line


def test_advice_replaces_a_pick_that_is_no_better_if_its_loss_is_not_ruled_out(tmp_path: Path) -> None:
    campaign = following(tmp_path, EQUAL, EQUAL, WINNER)
    decision = decided_equal(campaign, pick_later_ms=20, noise=0.3)
    advice = decision.advice
    assert advice is not None
    assert (decision.pick_configuration_id, advice.in_place_of) == (configuration_id(EQUAL), dict(WINNER))
    assert decision.offered
    assert advice.standing(0.1) == "open"
    assert any(gain.may_be_worse_by(0.1) for gain in advice.gains)
    (line,) = advice_of(decision)
    assert (
        "could be more than 10 % worse than this advice (a higher confirmation.gain_blocks may rule this out): p95 "
        in line
    )


def test_more_blocks_follow_where_the_pick_is_open_and_they_rule_out_that_it_is_worse(tmp_path: Path) -> None:
    campaign = following(tmp_path, EQUAL, EQUAL, WINNER)
    decision = decided_equal(campaign, pick_later_ms=17.5, noise=0.06)
    advice = decision.advice
    assert advice is not None
    gain, final = (measured(campaign, phase)[WINNER_ID] for phase in ("gain", "final"))
    assert final > CONFIRMATION["final_blocks"]
    assert gain + final <= min(2 * (gain + CONFIRMATION["final_blocks"]), 12 + CONFIRMATION["final_blocks"])
    assert (decision.verdict, decision.pick_configuration_id) == ("recommended", WINNER_ID)
    assert (advice.in_place_of, advice.standing(0.1)) == (None, "not worse")
    assert {len(each.candidate_repetition_ids) for each in [*advice.gains, *decision.gains]} == {gain + final}


def test_a_killed_comparison_with_advice_ends_where_it_would_have(tmp_path: Path) -> None:
    whole, cut = (following(tmp_path / name, EQUAL, EQUAL, WINNER) for name in ("whole", "cut"))
    expected = decided_equal(whole, pick_later_ms=17.5, noise=0.06)
    loads = len(whole.store.keys(whole.keys.confirmation(CASE, "repetitions/")))
    with pytest.raises(KeyboardInterrupt):
        decided_equal(cut, pick_later_ms=17.5, noise=0.06, killed_after=loads - 4)
    assert decided_equal(cut, pick_later_ms=17.5, noise=0.06) == expected


def test_measurements_never_exceed_the_plan(tmp_path: Path) -> None:
    for number, later_ms in enumerate((None, 90.0)):
        campaign = following(tmp_path / str(number), ADVISED, ADVISED, WINNER)
        decided(campaign, winner_later_ms=later_ms)
        found = campaign.read_repetitions(campaign.keys.confirmation(CASE, "repetitions/"))
        assert len(found) <= STUDY.confirmation.most_repetitions(advice=True)
