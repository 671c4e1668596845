"""What is left after every part of the stack was killed with -9 while records were being sent."""

from __future__ import annotations

import pytest

from kafka_pareto.campaign.records import Repetition
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto_embedded.lifecycle.readiness import answers_everywhere
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from tests.planned import planned_confirmation, planned_design, stored_ids
from tests.stack.embedded_stack import EmbeddedStack
from tests.stack.kills import STEP, VICTIMS, Finished

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
    for case in campaign.study.cases:
        assert stored_ids(campaign, campaign.keys.measurements(case)) == planned_design(campaign, case)
        found = stored_ids(campaign, campaign.keys.confirmation(case, "repetitions/"))
        assert found == planned_confirmation(campaign, case)


def test_no_record_of_a_repetition_is_missing_or_counted_twice(finished: Finished) -> None:
    campaign = finished.campaign
    for case in campaign.study.cases:
        for prefix in (campaign.keys.measurements(case), campaign.keys.confirmation(case, "repetitions/")):
            for repetition in campaign.read_repetitions(prefix):
                assert repetition.outcome == "valid", repetition
                assert repetition.number("records_sent") == repetition.number("end_offset_growth") == 1000


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
