"""A campaign through which every part of the stack is killed with -9 while records are sent, and what is left of it."""

from __future__ import annotations

import pytest

from kafka_pareto.campaign.records import Repetition
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.kafka.known_properties import is_idempotent
from kafka_pareto_embedded.lifecycle.readiness import answers_everywhere
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from tests.planned import planned_confirmation, planned_design, stored_ids
from tests.stack.embedded_stack import EmbeddedStack
from tests.stack.kills import STEP, VICTIMS, Survived

pytestmark = [pytest.mark.stack, pytest.mark.studies, pytest.mark.timeout(1500)]

# Airflow tries a step again that was killed, or whose scheduler was.
ENDS_A_STEP = {STEP, "airflow-scheduler"}


def test_everything_was_killed_once_and_the_campaign_resumed_after_each_kill(
    survived: Survived,
) -> None:
    assert sorted(kill.victim for kill in survived.kills) == sorted(VICTIMS)
    for kill in survived.kills:
        begun_after = survived.campaign.read_record(kill.next_key, Repetition)
        assert begun_after.started_at > kill.killed_at, kill
        assert begun_after.outcome == "valid", kill


@pytest.mark.long
def test_a_campaign_resumes_within_one_minute_or_two_if_its_step_was_ended(survived: Survived) -> None:
    for kill in survived.kills:
        assert kill.goes_on_after_s < (120 if kill.victim in ENDS_A_STEP else 60), kill


def test_every_planned_repetition_is_there_exactly_once(survived: Survived) -> None:
    campaign = survived.campaign
    for case in campaign.study.cases:
        assert stored_ids(campaign, campaign.keys.measurements(case)) == planned_design(campaign, case)
        found = stored_ids(campaign, campaign.keys.confirmation(case, "repetitions/"))
        assert found == planned_confirmation(campaign, case)


def test_only_a_dying_broker_loses_or_doubles_records_and_only_those_of_a_producer_that_promises_neither(
    survived: Survived,
) -> None:
    campaign = survived.campaign
    [broker_died_at] = [kill.killed_at for kill in survived.kills if kill.victim == "kafka-2"]
    cost = []
    for case in campaign.study.cases:
        for prefix in (campaign.keys.measurements(case), campaign.keys.confirmation(case, "repetitions/")):
            for repetition in campaign.read_repetitions(prefix):
                sent, growth = repetition.number("records_sent"), repetition.number("end_offset_growth")
                allowed = set()
                if repetition.configuration["acks"] != "all":  # what the leader alone knew dies with it
                    allowed.add("records_lost")
                if not is_idempotent(repetition.configuration):  # what is sent again may be there already
                    allowed.add("records_duplicated")
                if repetition.outcome in allowed:
                    assert repetition.started_at < broker_died_at, repetition
                    cost.append(repetition)
                else:
                    assert repetition.outcome == "valid", repetition
                    assert sent == growth == 1000, repetition
    assert len(cost) <= 1, cost  # there is one load at a time


def test_no_load_no_step_and_nothing_of_a_killed_scheduler_is_left(survived: Survived, stack: EmbeddedStack) -> None:
    assert survived.killer.load() == []
    assert survived.killer.steps() == []
    assert stack.strays() == []


@pytest.mark.usefixtures("survived")
def test_the_stack_has_recovered(stack: EmbeddedStack) -> None:
    wait_until("every server answers", lambda: answers_everywhere(stack.stack), 60)
    assert all(process.is_running for process in stack.supervisor.processes())
    with Cluster(stack.stack.bootstrap_servers, None, stack.stack.settings()) as cluster:
        assert len(cluster.describe().brokers) == 3
