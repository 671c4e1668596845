"""What is left after every part of the stack was killed with -9 while records were being sent."""

from __future__ import annotations

import pytest

from kafka_pareto.artifacts import CANDIDATE_COLUMNS, DESIGN_COLUMNS
from kafka_pareto.blocks import Candidate, candidates_of, plan_blocks
from kafka_pareto.campaign import Campaign
from kafka_pareto.cluster import Cluster
from kafka_pareto.records import Phase, Repetition
from kafka_pareto.steps.measure import baseline_candidate
from kafka_pareto.verdict import Decision
from kafka_pareto_embedded.readiness import answers_everywhere
from kafka_pareto_embedded.waiting import wait_until
from tests.system.embedded_stack import EmbeddedStack
from tests.system.kills import STEP, VICTIMS, Finished

pytestmark = [pytest.mark.stack, pytest.mark.timeout(900)]

# Airflow tries a step again that was killed, or whose scheduler was.
ENDS_A_STEP = {STEP, "airflow-scheduler"}


def test_everything_was_killed_once_and_the_campaign_measured_on_with_what_it_began_after_each_kill(
    finished: Finished,
) -> None:
    assert sorted(kill.victim for kill in finished.kills) == sorted(VICTIMS)
    for kill in finished.kills:
        begun_after = finished.campaign.read_record(kill.next_key, Repetition)
        assert begun_after.started_at > kill.killed_at, kill
        assert begun_after.outcome == "valid", kill


def test_a_campaign_goes_on_within_a_minute_and_within_two_where_its_step_was_ended(finished: Finished) -> None:
    for kill in finished.kills:
        assert kill.goes_on_after_s < (120 if kill.victim in ENDS_A_STEP else 60), kill


def test_every_planned_repetition_is_there_exactly_once(finished: Finished) -> None:
    campaign = finished.campaign
    for size in campaign.study.record_sizes_bytes:
        assert _ids(campaign, campaign.keys.measurements(size)) == _planned_design(campaign, size)
        found = _ids(campaign, campaign.keys.confirmation(size, "repetitions/"))
        assert found == _planned_confirmation(campaign, size)


def test_no_record_of_a_repetition_is_missing_or_counted_twice(finished: Finished) -> None:
    campaign = finished.campaign
    for size in campaign.study.record_sizes_bytes:
        for prefix in (campaign.keys.measurements(size), campaign.keys.confirmation(size, "repetitions/")):
            for repetition in campaign.read_repetitions(prefix):
                assert repetition.outcome == "valid", repetition
                assert repetition.records_sent == repetition.end_offset_growth == 1000


def test_no_load_no_step_and_nothing_of_a_killed_scheduler_is_left(finished: Finished, stack: EmbeddedStack) -> None:
    assert finished.killer.load() == []
    assert finished.killer.steps() == []
    assert stack.strays() == []


@pytest.mark.usefixtures("finished")
def test_the_stack_is_whole_again(stack: EmbeddedStack) -> None:
    wait_until("every server answers", lambda: answers_everywhere(stack.stack), 60)
    assert all(process.is_running for process in stack.supervisor.processes())
    with Cluster(stack.stack.bootstrap_servers, None, stack.stack.settings()) as cluster:
        assert len(cluster.describe().brokers) == 3


def _ids(campaign: Campaign, prefix: str) -> list[str]:
    return sorted(repetition.repetition_id for repetition in campaign.read_repetitions(prefix))


def _planned_design(campaign: Campaign, size: int) -> list[str]:
    design = campaign.read_table(campaign.keys.design(), DESIGN_COLUMNS)
    candidates = candidates_of(design[design.record_size_bytes == size], campaign.study)
    return sorted(_planned(campaign, candidates, campaign.study.protocol.repetitions, "design", size))


def _planned_confirmation(campaign: Campaign, size: int) -> list[str]:
    keys, confirmation = campaign.keys, campaign.study.confirmation
    selected = candidates_of(
        campaign.read_table(keys.confirmation(size, "candidates.parquet"), CANDIDATE_COLUMNS), campaign.study
    )
    baseline = baseline_candidate(campaign)
    planned = _planned(campaign, [baseline, *selected], confirmation.choice_blocks, "choice", size)
    chosen = campaign.read_record(keys.confirmation(size, "decision.json"), Decision).tentative_configuration_id
    if chosen is not None:
        finalists = [baseline, *(each for each in selected if each.configuration_id == chosen)]
        planned += _planned(campaign, finalists, confirmation.gain_blocks, "gain", size)
    return sorted(planned)


def _planned(campaign: Campaign, candidates: list[Candidate], blocks: int, phase: Phase, size: int) -> list[str]:
    planned = plan_blocks(
        candidates, blocks, order="blocks", phase=phase, record_size_bytes=size, seed=campaign.study.seed
    )
    return [repetition.repetition_id for repetition in planned]
