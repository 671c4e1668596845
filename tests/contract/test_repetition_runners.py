"""Holds every driver to one contract: the producer, on a real broker and on the seeded fake, and that of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.candidates import baseline_candidate
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import Fingerprint
from kafka_pareto.drivers.calls.runtime import CallsRuntime
from kafka_pareto.drivers.calls.studies import TuneCalls
from kafka_pareto.drivers.producer.runner import ProducerRunner
from kafka_pareto.drivers.producer.runtime import ProducerRuntime
from kafka_pareto.errors import BadInputError, SafetyStop
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.measurement.blocks import PlannedRepetition, plan_blocks
from kafka_pareto.measurement.driver_runtime import DriverRuntime, RepetitionRunner, System
from kafka_pareto.measurement.fingerprint import keep_fingerprint
from kafka_pareto.measurement.limits import DELETE_RECORDS_AFTER_BYTES
from kafka_pareto.measurement.measurer import Measurer
from kafka_pareto.measurement.own_topics import topic_name
from kafka_pareto.measurement.phase import MeasurementPhase
from kafka_pareto.measurement.repetition_store import RepetitionStore
from kafka_pareto.settings import Settings
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.study import Study
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from tests.fakes import fake_testbed
from tests.other_driver import known_driver
from tests.system.broker_fixtures import RunningBrokers
from tests.unit.measuring import quick

BLOCKS = 2


class ProducerOnTheFake(ProducerRuntime):
    """The producer's driver on a fake cluster and load generator."""

    @contextmanager
    def runner(self, campaign: Campaign, case: str, settings: Settings) -> Iterator[ProducerRunner]:  # noqa: ARG002
        with fake_testbed(campaign, case) as testbed:
            yield ProducerRunner(campaign, case, testbed)


class Bench:
    """A driver, and a campaign of its own study."""

    def __init__(self, driver: DriverRuntime, study: Study, folder: Path, settings: Settings) -> None:
        self.driver = driver
        self.study = study
        self.campaign = Campaign(study, CampaignKeys(study.name, "c1"), FolderStore(folder))
        self.settings = settings
        self.case = study.cases[0]

    @contextmanager
    def runner(self) -> Iterator[RepetitionRunner]:
        with self.driver.runner(self.campaign, self.case, self.settings) as runner:
            yield runner

    def planned(self) -> list[PlannedRepetition]:
        return plan_blocks(
            [baseline_candidate(self.campaign, self.case)],
            BLOCKS,
            order="blocks",
            phase="choice",
            case=self.case,
            seed=1,
        )


def of_the_producer(**workload: int) -> Study:
    return quick(record_sizes_bytes=[1024], protocol={"records": 400}, workload=workload)


@pytest.fixture
def producer(single_broker: RunningBrokers, tmp_path: Path) -> Bench:
    here = {"bootstrap_servers": single_broker.bootstrap_servers, "own_cluster_id": single_broker.cluster_id}
    study = of_the_producer(replication_factor=1, min_insync_replicas=1)
    return Bench(ProducerRuntime(), study, tmp_path, single_broker.settings.model_copy(update=here))


@pytest.fixture
def producer_on_the_fake(tmp_path: Path) -> Bench:
    return Bench(ProducerOnTheFake(), of_the_producer(), tmp_path, Settings())


@pytest.fixture
def calls(tmp_path: Path) -> Iterator[Bench]:
    content: dict[str, Any] = {
        "schema_version": 1,
        "name": "rota",
        "description": "Of a test.",
        "factors": {"agents": {"type": "integer", "levels": [2, 5]}},
        "protocol": {"repetitions": 3},
        "design": {"configurations": 2},
        "confirmation": {"points": 1, "choice_blocks": 2, "gain_blocks": 2},
    }
    with known_driver():
        yield Bench(CallsRuntime(), TuneCalls.model_validate(content), tmp_path, Settings())


REAL = pytest.param("producer", marks=pytest.mark.brokers)
FAKE = pytest.param("producer_on_the_fake", marks=pytest.mark.fast)
CALLS = pytest.param("calls", marks=pytest.mark.fast)


@pytest.fixture(params=[REAL, FAKE, CALLS])
def bench(request: pytest.FixtureRequest) -> Bench:
    chosen: Bench = request.getfixturevalue(request.param)
    return chosen


def test_an_attempt_has_every_quantity_declared_by_the_driver_and_a_value_for_every_mean(bench: Bench) -> None:
    planned = bench.planned()[0]
    with bench.runner() as runner:
        runner.wait_until_ready([planned])
        assert runner.begin(None, planned) is None
        attempt = runner.attempt(planned)

    declared = bench.study.declaration
    assert (attempt.outcome, attempt.reason, attempt.trouble, attempt.is_excused) == ("valid", "", None, False)
    assert declared.fault_of(attempt.quantities) == ""
    means = [objective.quantity.name for objective in declared.objectives if not objective.spread_of]
    assert all(isinstance(attempt.quantities[name], float) for name in means)


def test_nothing_is_attempted_that_was_not_begun(bench: Bench) -> None:
    planned = bench.planned()[0]
    with bench.runner() as runner:
        with pytest.raises(RuntimeError, match="begin"):
            runner.attempt(planned)
        runner.begin(None, planned)
        runner.attempt(planned)
        with pytest.raises(RuntimeError, match="begin"):
            runner.attempt(planned)


def test_a_phase_is_measured_and_read_back_and_its_end_may_come_twice(bench: Bench) -> None:
    store = RepetitionStore(bench.campaign, bench.campaign.keys.confirmation(bench.case, "repetitions/"))
    with bench.runner() as runner:
        measured = Measurer(bench.study, runner).measure(MeasurementPhase(bench.planned(), store))
        runner.end()

    assert [each.outcome for each in measured] == ["valid"] * BLOCKS
    assert bench.campaign.read_repetitions(bench.campaign.keys.confirmation(bench.case, "repetitions/")) == measured


def test_the_system_is_known_again_and_another_one_is_refused(bench: Bench) -> None:
    with bench.runner():
        pass
    known = bench.campaign.store.get(bench.campaign.keys.fingerprint(bench.case))
    identity = bench.study.declaration.identity
    assert identity
    with bench.runner():
        pass

    assert bench.campaign.store.get(bench.campaign.keys.fingerprint(bench.case)) == known
    found = bench.campaign.read_record(bench.campaign.keys.fingerprint(bench.case), Fingerprint)
    other = found.model_copy(update={"system": found.system | {identity[0]: "another"}})
    with pytest.raises(BadInputError, match=f"{identity[0]}: the campaign started on .*, but this is another"):
        keep_fingerprint(bench.campaign, bench.case, other)


def test_more_repetitions_cost_more(bench: Bench) -> None:
    one, ten = (bench.driver.cost_of(bench.study, {bench.case: count}, sized=True) for count in (1, 10))

    assert (one.repetitions, ten.repetitions) == (1, 10)
    assert ten.duration_s > one.duration_s > 0
    assert ten.duration_s == pytest.approx(10 * one.duration_s)


@pytest.mark.brokers
@pytest.mark.parametrize("end", [None, SafetyStop("harmed"), SystemExit(143)], ids=["well", "stopped", "ended by TERM"])
def test_the_topic_limits_its_retention_and_is_deleted_with_its_step_in_any_state(
    producer: Bench, single_broker: RunningBrokers, end: BaseException | None
) -> None:
    topic = topic_name(producer.campaign.keys, producer.case)
    with Cluster(single_broker.bootstrap_servers, None, single_broker.settings) as cluster:
        with suppress(SafetyStop, SystemExit), producer.runner():
            kept = cluster.topic_configs(topic, ["retention.ms", "retention.bytes", "cleanup.policy"])
            if end is not None:
                raise end
        wait_until("brokers know that the topic is gone", lambda: cluster.topics(topic) == [], 30)
    assert kept["cleanup.policy"] == "delete"
    assert kept["retention.ms"] == str(24 * 3_600_000)
    assert int(kept["retention.bytes"] or 0) > 4 * DELETE_RECORDS_AFTER_BYTES


@pytest.mark.brokers
def test_a_cluster_that_no_stack_of_ours_has_started_is_not_loaded_without_ceilings(producer: Bench) -> None:
    somebodys = producer.settings.model_copy(update={"own_cluster_id": ""})
    with (
        pytest.raises(BadInputError, match="was not started by this installation's stack"),
        producer.driver.runner(producer.campaign, producer.case, somebodys),
    ):
        pass
    with (
        pytest.raises(BadInputError, match="was not started by this installation's stack"),
        producer.driver.system(producer.study, somebodys),
    ):
        pass


@pytest.mark.brokers
def test_the_producers_system_describes_its_cluster_and_has_room_for_a_small_plan(producer: Bench) -> None:
    with producer.driver.system(producer.study, producer.settings) as system:
        assert _kafka_of(system, producer) == "4.3"
        plan = producer.driver.cost_of(producer.study, {producer.case: 2}, sized=True)
        system.require_fit(plan, producer.campaign, producer.case)


def _kafka_of(system: System, bench: Bench) -> object:
    return system.fingerprint(bench.campaign, bench.case).system["kafka_version"]
