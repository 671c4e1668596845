"""A campaign through which every part of the stack is killed with -9 while records are sent, and what is left of it."""

from __future__ import annotations

import secrets

import pytest

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.storage.store import open_store
from kafka_pareto_embedded.lifecycle.readiness import answers_everywhere
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from tests.planned import planned_confirmation, planned_design, stored_ids
from tests.stack.embedded_stack import CAMPAIGN_BEGINS, EmbeddedStack
from tests.stack.kills import STEP, VICTIMS, Killer, Survived

pytestmark = [pytest.mark.stack, pytest.mark.studies, pytest.mark.timeout(900)]

# Airflow tries a step again that was killed, or whose scheduler was.
ENDS_A_STEP = {STEP, "airflow-scheduler"}


@pytest.fixture(scope="module")
def survived(stack: EmbeddedStack) -> Survived:
    """`paper_small` run to its end, while everything that it needs was killed once."""
    running = stack.begin("run", STUDY="paper_small")
    assert running.stdout is not None
    said = ""
    for line in running.stdout:
        said += line
        if begins := CAMPAIGN_BEGINS.match(line):
            break
    else:
        pytest.fail(said)
    seed = secrets.randbits(32)
    print(f"seed of the kills: {seed}")
    keys = CampaignKeys("paper_small", begins[1])
    killer = Killer(stack, keys, ["1024", "8192"], seed)
    kills = killer.kill_everything_once()
    rest, _ = running.communicate(timeout=700)
    assert running.returncode == 0, said + rest
    return Survived(Campaign.open(open_store(stack.stack.settings()), keys.study, keys.campaign), killer, kills)


def test_everything_was_killed_once_and_the_campaign_measured_on_with_what_it_began_after_each_kill(
    survived: Survived,
) -> None:
    assert sorted(kill.victim for kill in survived.kills) == sorted(VICTIMS)
    for kill in survived.kills:
        begun_after = survived.campaign.read_record(kill.next_key, Repetition)
        assert begun_after.started_at > kill.killed_at, kill
        assert begun_after.outcome == "valid", kill


def test_a_campaign_goes_on_within_a_minute_and_within_two_where_its_step_was_ended(survived: Survived) -> None:
    for kill in survived.kills:
        assert kill.goes_on_after_s < (120 if kill.victim in ENDS_A_STEP else 60), kill


def test_every_planned_repetition_is_there_exactly_once(survived: Survived) -> None:
    campaign = survived.campaign
    for case in campaign.study.cases:
        assert stored_ids(campaign, campaign.keys.measurements(case)) == planned_design(campaign, case)
        found = stored_ids(campaign, campaign.keys.confirmation(case, "repetitions/"))
        assert found == planned_confirmation(campaign, case)


def test_only_a_dying_broker_costs_records_and_only_those_that_nobody_was_to_acknowledge_everywhere(
    survived: Survived,
) -> None:
    campaign = survived.campaign
    [broker_died_at] = [kill.killed_at for kill in survived.kills if kill.victim == "kafka-2"]
    lost = []
    for case in campaign.study.cases:
        for prefix in (campaign.keys.measurements(case), campaign.keys.confirmation(case, "repetitions/")):
            for repetition in campaign.read_repetitions(prefix):
                sent, growth = repetition.number("records_sent"), repetition.number("end_offset_growth")
                if repetition.outcome == "records_lost" and repetition.configuration["acks"] != "all":
                    # That is what acks 0 and 1 promise: what the leader alone knew dies with it.
                    assert repetition.started_at < broker_died_at, repetition
                    lost.append(repetition)
                else:
                    assert repetition.outcome == "valid", repetition
                    assert sent == growth == 1000, repetition
    assert len(lost) <= 1, lost  # there is one load at a time


def test_no_load_no_step_and_nothing_of_a_killed_scheduler_is_left(survived: Survived, stack: EmbeddedStack) -> None:
    assert survived.killer.load() == []
    assert survived.killer.steps() == []
    assert stack.strays() == []


@pytest.mark.usefixtures("survived")
def test_the_stack_is_whole_again(stack: EmbeddedStack) -> None:
    wait_until("every server answers", lambda: answers_everywhere(stack.stack), 60)
    assert all(process.is_running for process in stack.supervisor.processes())
    with Cluster(stack.stack.bootstrap_servers, None, stack.stack.settings()) as cluster:
        assert len(cluster.describe().brokers) == 3


def test_going_on_with_a_finished_campaign_measures_nothing_again(survived: Survived, stack: EmbeddedStack) -> None:
    campaign = survived.campaign
    before = _tags_of_repetitions(campaign)
    code, said = stack.command("run", STUDY="paper_small", CAMPAIGN=campaign.keys.campaign, timeout_s=400)

    assert code == 0, said
    assert _tags_of_repetitions(campaign) == before


def _tags_of_repetitions(campaign: Campaign) -> dict[str, str | None]:
    """Of every repetition of every phase, those too that were set aside."""
    keys, store = campaign.keys, campaign.store
    prefixes = [
        prefix
        for case in campaign.study.cases
        for prefix in (
            keys.noise_repetitions(case),
            keys.measurements(case),
            keys.set_aside(case),
            keys.confirmation(case, "repetitions/"),
            keys.confirmation(case, "set_aside/"),
        )
    ]
    return {key: store.tag(key) for prefix in prefixes for key in store.keys(prefix)}
