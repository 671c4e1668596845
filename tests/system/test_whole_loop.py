"""The full pipeline on the seeded fake, without servers."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from dataclasses import fields
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from kafka_pareto.bottleneck.load_counters import LoadCounters
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Stop
from kafka_pareto.campaign.tables import CANDIDATE_COLUMNS, FRONT_COLUMNS, TRIAL_COLUMNS
from kafka_pareto.decision.decision import Decision
from kafka_pareto.drivers.common.systems import ClusterSystem
from kafka_pareto.drivers.producer.runner import ProducerRunner
from kafka_pareto.report.cards import Cards
from kafka_pareto.steps import confirm, design, measure, optimize, propose, report, train, validate
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.identifiers import MOST_ROUNDS
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import parse_study
from tests.fakes import FakeCluster, fake_testbed
from tests.small_quick import small_quick

pytestmark = pytest.mark.studies

CASES = ["1024", "8192"]
KILLS_PER_STEP = 2
SEED_OF_KILLS = int(os.environ.get("KAFKA_PARETO_SEED_OF_KILLS", "1"))
STEPS = {"measure": measure.run, "confirm": confirm.run}
# The machine's own counters are read only if a load takes half a second, as a fake one does on a busy machine.
COUNTED = {*(each.name for each in fields(LoadCounters)), "limited_by"}
OF_THE_MOMENT: dict[str, Any] = {
    **dict.fromkeys(("started_at", "load_1m", "cpu_steal_fraction", "other_cpu_fraction"), True),
    "quantities": COUNTED,
}


def study_of(**changes: object) -> Study:
    content = small_quick() | {"record_sizes_bytes": [int(case) for case in CASES]}
    return parse_study(yaml.safe_dump(content | changes), "loop")


def run_on_fake(step: str, campaign: Campaign, case: str) -> None:
    with fake_testbed(campaign, case) as testbed:
        STEPS[step](campaign, case, ProducerRunner(campaign, case, testbed))


def run_all(store: FolderStore, study: Study) -> Campaign:
    campaign = run_until_decided(store, study)
    report.run(campaign)
    return campaign


def run_until_decided(
    store: FolderStore, study: Study, load: Callable[[str, Campaign, int], None] = run_on_fake
) -> Campaign:
    with FakeCluster() as cluster:
        design.run(store, study, "c1", ClusterSystem(cluster))
    campaign = Campaign.open(store, study.name, "c1")
    for case in study.cases:
        load("measure", campaign, case)
    learn(campaign, 0)
    run_rounds(campaign)
    for case in study.cases:
        load("confirm", campaign, case)
    return campaign


def learn(campaign: Campaign, round_number: int) -> None:
    validate.run(campaign, round_number)
    train.run(campaign, round_number)
    for case in campaign.study.cases:
        optimize.run(campaign, case, round_number)


def run_rounds(campaign: Campaign) -> None:
    """Run rounds like the graph: the last one is the first whose proposal names no case."""
    for number in range(1, MOST_ROUNDS + 1):
        sizes = propose.run(campaign, number).cases
        if not sizes:
            return
        for case in sizes:
            with fake_testbed(campaign, case) as testbed:
                measure.run(campaign, case, ProducerRunner(campaign, case, testbed), number)
        learn(campaign, number)


class DeadlyStore(FolderStore):
    """A store that kills its process at one of the artifact writes, before or after it."""

    def __init__(self, folder: Path, writes_survived: int, too_early: bool) -> None:
        super().__init__(folder)
        self._writes_survived = writes_survived
        self._too_early = too_early

    def put(self, key: str, content: bytes) -> None:
        if key.startswith("leases/"):  # renewed as time goes by
            super().put(key, content)
            return
        dies_now = self._writes_survived == 0
        self._writes_survived -= 1
        if not (dies_now and self._too_early):
            super().put(key, content)
        if dies_now:
            os.kill(os.getpid(), signal.SIGKILL)


def run_in_child(store: FolderStore, study: str, campaign_id: str, step: str, case: str) -> None:
    """Run a step in its own process, with a short lease."""
    campaign = Campaign.open(store, study, campaign_id)
    with fake_testbed(campaign, case, lease_term_s=1.0) as testbed:
        STEPS[step](campaign, case, ProducerRunner(campaign, case, testbed))


class KillingRunner:
    """Runs steps in child processes that die at random writes, until the last try."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._rng = np.random.default_rng(seed)
        self._processes: ForkServerContext = multiprocessing.get_context("forkserver")
        self._processes.set_forkserver_preload(["tests.unit.steps.test_whole_loop"])
        self.kills = 0

    def __call__(self, step: str, campaign: Campaign, case: str) -> None:
        for _ in range(KILLS_PER_STEP):
            writes_survived, too_early = int(self._rng.integers(1, 24)), bool(self._rng.integers(2))
            deadly = DeadlyStore(self._folder, writes_survived, too_early)
            assert self._run(step, campaign, case, deadly) == -signal.SIGKILL
            self.kills += 1
        assert self._run(step, campaign, case, FolderStore(self._folder)) == 0

    def _run(self, step: str, campaign: Campaign, case: str, store: FolderStore) -> int | None:
        arguments = (store, campaign.keys.study, campaign.keys.campaign, step, case)
        child = self._processes.Process(target=run_in_child, args=arguments)
        child.start()
        child.join(60)
        return child.exitcode


def _repetition_prefixes(campaign: Campaign, case: str) -> tuple[str, str]:
    keys = campaign.keys
    return keys.measurements(case), keys.confirmation(case, "repetitions/")


def _repetitions(campaign: Campaign) -> list[dict[str, object]]:
    """Return all repetitions in key order, without time-dependent fields."""
    prefixes = [prefix for case in CASES for prefix in _repetition_prefixes(campaign, case)]
    found = [repetition for prefix in prefixes for repetition in campaign.read_repetitions(prefix)]
    return [repetition.model_dump(exclude=OF_THE_MOMENT) for repetition in found]


@pytest.fixture(scope="module")
def strong(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """Return a campaign with sufficient evidence for a decision."""
    study = study_of(
        design={"configurations": 16, "feasible": True},
        protocol={"kind": "cold_burst", "records": 1000, "repetitions": 4},
        surrogate={"n_estimators": 20},
        search={"generations": 10},
        confirmation={"points": 4, "choice_blocks": 10, "gain_blocks": 20},
    )
    return run_all(FolderStore(tmp_path_factory.mktemp("strong")), study)


@pytest.fixture(scope="module")
def survived(strong: Campaign, tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """Return the same campaign, killed now and then."""
    folder = tmp_path_factory.mktemp("survived")
    killing = KillingRunner(folder, SEED_OF_KILLS)
    campaign = run_until_decided(FolderStore(folder), strong.study, killing)
    assert killing.kills == len(STEPS) * len(CASES) * KILLS_PER_STEP
    return campaign


def test_every_artifact_lies_under_its_name_in_the_design(strong: Campaign) -> None:
    keys, found = strong.keys, set(strong.store.keys(""))
    expected = {keys.frozen_study(), keys.plan(), keys.design(), keys.trials(), keys.report("report.html")}
    for case in CASES:
        expected |= {keys.front(case), keys.hypervolume(case), keys.sizing(case)}
        expected |= {
            keys.confirmation(case, name) for name in ("candidates.parquet", "trials.parquet", "decision.json")
        }
        expected |= {keys.report(f"{case}/producer.properties")}
    assert expected <= found


def test_a_large_planted_gain_is_recommended_and_traces_to_fresh_repetitions(strong: Campaign) -> None:
    decision = strong.read_record(strong.keys.confirmation("1024", "decision.json"), Decision)
    stored = {r.repetition_id for r in strong.read_repetitions(strong.keys.confirmation("1024", "repetitions/"))}

    assert decision.verdict == "recommended"
    used = {
        name for gain in decision.gains for name in [*gain.reference_repetition_ids, *gain.candidate_repetition_ids]
    }
    assert used
    assert used <= stored
    assert all(name.startswith(("gain-", "final-")) for name in used)


def test_a_few_blocks_decide_a_clear_case(tmp_path: Path) -> None:
    campaign = run_all(FolderStore(tmp_path), study_of(record_sizes_bytes=[8192], search={"generations": 10}))
    cards = campaign.store.get(campaign.keys.report("cards.txt")).decode()
    decision = campaign.read_record(campaign.keys.confirmation("8192", "decision.json"), Decision)

    assert decision.verdict == "recommended"
    assert decision.blocks_used < campaign.tune.confirmation.gain_blocks
    assert "CHANGE RECOMMENDED" in cards


@pytest.mark.long
def test_the_same_study_data_and_seed_give_the_same_front(strong: Campaign, survived: Campaign) -> None:
    for case in CASES:
        front = strong.keys.front(case)
        assert survived.store.get(front) == strong.store.get(front)


def test_a_campaign_killed_again_and_again_ends_with_the_same_repetitions_and_decisions(
    strong: Campaign, survived: Campaign
) -> None:
    assert _repetitions(survived) == _repetitions(strong)
    for case in CASES:
        decision = strong.keys.confirmation(case, "decision.json")
        assert survived.store.get(decision) == strong.store.get(decision)


@pytest.fixture(scope="module")
def in_rounds(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """Return a campaign with one round after its design, and one repetition of each configuration."""
    study = study_of(
        record_sizes_bytes=[8192],
        design={"configurations": 8, "feasible": True},
        strategy="rounds",
        rounds={"maximum": 1, "configurations": 3, "least_rise_fraction": 0.0},
        protocol={"kind": "cold_burst", "records": 1000, "repetitions": 1, "minimum_valid_repetitions": 2},
        surrogate={"n_estimators": 20},
        search={"generations": 5},
        confirmation={"points": 3, "choice_blocks": 3, "gain_blocks": 3},
    )
    return run_all(FolderStore(tmp_path_factory.mktemp("rounds")), study)


@pytest.mark.long
def test_every_round_adds_its_trials_to_those_before_and_pools_the_baselines(in_rounds: Campaign) -> None:
    keys = in_rounds.keys
    designed, trials = (
        in_rounds.read_table(keys.trials(number), TRIAL_COLUMNS).set_index("configuration_id") for number in range(2)
    )
    baseline_id = in_rounds.study.baseline_id()

    assert in_rounds.last_round() == 1
    assert set(designed.index) < set(trials.index)
    assert [name.split("-")[1] for name in trials.repetition_ids[baseline_id]] == ["r00", "r01"]
    assert (trials.repetitions_valid.drop(baseline_id) == 1).all()
    # The baseline alone has the two repetitions of which there can be a CV, which is nothing to learn from.
    assert trials.throughput_cv.notna().sum() == 1
    assert in_rounds.store.tag(keys.surrogates("throughput_cv.ubj", 1)) is None


def test_the_search_after_the_last_round_is_confirmed_and_the_report_covers_all_rounds(in_rounds: Campaign) -> None:
    keys = in_rounds.keys
    candidates = in_rounds.read_table(keys.confirmation("8192", "candidates.parquet"), CANDIDATE_COLUMNS)
    front = in_rounds.read_table(keys.front("8192", 1), FRONT_COLUMNS)
    (context,) = in_rounds.read_record(keys.report("cards.json"), Cards).contexts

    of_front = candidates[candidates.estimated_throughput_mib_s.notna()]
    assert len(of_front)
    assert set(of_front.configuration_id) <= set(front.configuration_id)
    assert context.rounds is not None
    assert len(context.rounds.measured_hypervolume) == 2
    assert context.rounds.measured_hypervolume == sorted(context.rounds.measured_hypervolume)
    assert context.rounds.stopped_because == Stop(code="last_round")
    text = " ".join(in_rounds.store.get(keys.report("cards.txt")).decode().split())
    assert "1 round after the design. Measured hypervolume by round:" in text
    assert in_rounds.store.get(keys.report("figures/fig10_measured_hypervolume_by_round.png")).startswith(b"\x89PNG")


@pytest.mark.long
def test_resuming_a_finished_campaign_measures_nothing_again(in_rounds: Campaign) -> None:
    store = in_rounds.store

    def repetitions() -> dict[str, str | None]:
        prefixes = [in_rounds.keys.measurements("8192", number) for number in range(2)]
        prefixes.append(in_rounds.keys.confirmation("8192", "repetitions/"))
        return {key: store.tag(key) for prefix in prefixes for key in store.keys(prefix)}

    before = repetitions()
    run_until_decided(store, in_rounds.study)

    assert len(before) > 20
    assert repetitions() == before
