"""A driver that only tests know goes through every step of a campaign that tunes, and through its report."""

from __future__ import annotations

import dataclasses
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.campaign.tables import CANDIDATE_COLUMNS, FRONT_COLUMNS, TRIAL_COLUMNS
from kafka_pareto.decision.decision import Decision
from kafka_pareto.drivers.calls.declaration import DRIVER as CALLS
from kafka_pareto.drivers.calls.runtime import CallRunner
from kafka_pareto.drivers.calls.studies import HOURS
from kafka_pareto.errors import ArtifactError, BadInputError
from kafka_pareto.explorer.requirements import Requirements, best_remaining
from kafka_pareto.explorer.snapshot import read_snapshot
from kafka_pareto.kafka.properties_file import parse_properties
from kafka_pareto.measurement.driver_runtime import runtime_of
from kafka_pareto.report.cards import Cards
from kafka_pareto.settings import Settings
from kafka_pareto.steps import confirm, design, measure, optimize, propose, report, train, validate
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.objectives import Limit
from kafka_pareto.study.study_file import parse_study
from kafka_pareto.study.tune import tune_study
from tests.other_driver import known_driver

pytestmark = [pytest.mark.servers, pytest.mark.long]

STUDY = {
    "schema_version": 1,
    "driver": "calls",
    "name": "rota",
    "description": "How many agents, and who is served first.",
    "hours": list(HOURS),
    "factors": {
        "agents": {"type": "integer", "low": 1, "high": 9},
        "queue": {"type": "categorical", "levels": ["first", "shortest", "random"]},
        "break_s": {"type": "integer", "levels": [0, 30, 60]},
    },
    "constraints": ["agents <= callers"],
    "protocol": {"repetitions": 4, "minimum_valid_repetitions": 3, "noise_repetitions": 6},
    "strategy": "rounds",
    "design": {"configurations": 9},
    "rounds": {"maximum": 2, "configurations": 3},
    "surrogate": {"n_estimators": 40},
    "search": {"generations": 12},
    "confirmation": {
        "points": 3,
        "choice_blocks": 3,
        "gain_blocks": 10,
    },
}


@pytest.fixture(scope="module", autouse=True)
def _the_driver_is_known() -> Iterator[None]:
    with known_driver():
        yield


def measured(step: str, campaign: Campaign, case: str, *more: int) -> CallRunner:
    run = {"measure": measure.run, "confirm": confirm.run}[step]
    with runtime_of(campaign.study).runner(campaign, case, Settings()) as runner:
        assert isinstance(runner, CallRunner)
        run(campaign, case, runner, *more)
    return runner


def learned(campaign: Campaign, number: int) -> None:
    validate.run(campaign, number)
    train.run(campaign, number)
    for case in campaign.study.cases:
        optimize.run(campaign, case, number)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    store = FolderStore(tmp_path_factory.mktemp("calls"))
    study = tune_study(parse_study(yaml.safe_dump(STUDY), "rota.yaml"))
    with runtime_of(study).system(study, Settings()) as system:
        design.run(store, study, "c1", system)
    found = Campaign.open(store, study.name, "c1")
    for case in found.study.cases:
        measured("measure", found, case)
    learned(found, 0)
    for number in range(1, study.rounds.maximum + 1):
        cases = propose.run(found, number).cases
        if not cases:
            break
        for case in cases:
            measured("measure", found, case, number)
        learned(found, number)
    for case in found.study.cases:
        measured("confirm", found, case)
    report.run(found)
    return found


def stored(campaign: Campaign, case: str) -> list[Repetition]:
    return campaign.read_measurements([case], campaign.study.round_numbers())


@pytest.mark.parametrize("case", HOURS)
def test_its_repetitions_hold_its_own_quantities_and_count_towards_its_own_objectives(campaign: Campaign, case: str):
    repetitions = stored(campaign, case)
    trials = campaign.read_table(campaign.keys.trials(), TRIAL_COLUMNS)

    assert all(
        list(each.quantities) == ["callers", "wait_s", "wait_cv_in_run", "calls_per_agent"] for each in repetitions
    )
    assert {each.outcome for each in repetitions} == {"valid"}
    assert set(CALLS.objective_names) <= set(trials.columns)
    assert "p95_latency_ms" not in trials.columns
    assert trials[trials.case == case][list(CALLS.objective_names)].notna().all(axis=None)


@pytest.mark.parametrize("case", HOURS)
def test_its_front_and_candidates_are_of_its_own_factors(campaign: Campaign, case: str):
    keys, last = campaign.keys, campaign.last_round()
    front = campaign.read_table(keys.front(case, last), FRONT_COLUMNS)
    candidates = campaign.read_table(keys.confirmation(case, "candidates.parquet"), CANDIDATE_COLUMNS)

    assert {"agents", "queue", "break_s", "estimated_wait_s", "estimated_wait_cv"} <= set(front.columns)
    assert len(candidates) == STUDY["confirmation"]["points"]


@pytest.mark.parametrize("case", HOURS)
def test_the_better_rota_is_recommended_in_its_own_words(campaign: Campaign, case: str):
    decision = campaign.read_record(campaign.keys.confirmation(case, "decision.json"), Decision)

    assert decision.recommended
    wait = next(gain for gain in decision.gains if gain.objective == "wait_s")
    assert wait.resolution == "better"
    assert wait.change_fraction is not None
    assert wait.change_fraction < -0.5
    settings = parse_properties(campaign.store.get(campaign.keys.report(f"{case}/rota.properties")).decode())
    assert settings == {name: str(value) for name, value in decision.recommended_properties.items()}


def test_the_report_speaks_of_times_of_day_and_of_nothing_that_was_not_measured(campaign: Campaign):
    keys = campaign.keys
    cards = campaign.read_record(keys.report("cards.json"), Cards)
    page = campaign.store.get(keys.report("report.html")).decode()
    shown = campaign.store.get(keys.report("cards.txt")).decode()

    assert [card.case for card in cards.cards] == list(HOURS)
    assert "Change the rota for every time of day: morning and evening." in page
    assert "calls per agent" in shown
    told = {"cards": shown, "page": re.sub(r'src="data:[^"]*"', "", page)}
    told |= {case: campaign.store.get(keys.report(f"{case}/rota.properties")).decode() for case in HOURS}
    for of_the_producer in ("latency", "throughput", "MiB/s", "record size", "8,192 B", "producer"):
        assert [name for name, text in told.items() if of_the_producer in text.lower()] == [], of_the_producer
    figures = [key.rsplit("/", 1)[1] for key in campaign.store.keys(keys.report("figures/"))]
    assert "fig6_two_objectives.png" in figures
    assert not {"fig5_mean_and_its_cv.png", "fig8_where_the_latency_goes.png"} & set(figures)


@pytest.mark.parametrize("limits", [[], ["wait_s <= 1e-9"]])
def test_the_explorer_names_no_durability_where_a_driver_has_none(campaign: Campaign, limits: list[str]):
    asked = Requirements(
        limits=list(map(Limit.parse, limits)), durability=campaign.tune.weakest_durability(), prefer="balanced"
    )
    snapshot = read_snapshot(campaign, HOURS[0])
    unmeasured = dataclasses.replace(snapshot, trials=snapshot.trials.iloc[:0], confirmed=snapshot.confirmed.iloc[:0])
    reasons = [reason for found in (snapshot, unmeasured) for reason in best_remaining(found, asked).reasons]
    assert "No eligible configuration has been measured so far." in reasons
    assert [reason for reason in reasons if "durability" in reason] == []


def test_trouble_spoils_a_block_and_it_is_measured_again(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    study = tune_study(parse_study(yaml.safe_dump(STUDY), "rota.yaml"))
    with runtime_of(study).system(study, Settings()) as system:
        design.run(FolderStore(tmp_path), study, "c1", system)
    begun = Campaign.open(FolderStore(tmp_path), study.name, "c1")
    with caplog.at_level(logging.WARNING), runtime_of(study).runner(begun, "morning", Settings()) as runner:
        assert isinstance(runner, CallRunner)
        runner.in_trouble = [f"design-r00-morning-b001-{study.baseline_id()}"]
        measure.run(begun, "morning", runner)

    assert "the lines are down" in caplog.text
    aside = begun.read_repetitions(begun.keys.discarded("morning"))
    assert {each.block for each in aside} == {1}
    assert {each.outcome for each in stored(begun, "morning")} == {"valid"}


def test_a_quantity_that_the_driver_does_not_declare_is_refused_by_its_name(campaign: Campaign):
    key = campaign.store.keys(campaign.keys.measurements("morning"))[0]
    whole = campaign.store.get(key)
    campaign.store.put(key, whole.replace(b'"wait_s"', b'"wait_ms"'))
    try:
        with pytest.raises(ArtifactError, match=r"wait_ms: is not a quantity of the driver calls; did you mean wait_s"):
            campaign.read_repetition(key)
    finally:
        campaign.store.put(key, whole)


@pytest.mark.parametrize("name", ["block", "callers"])
def test_a_factor_may_not_be_called_like_a_column_of_every_repetition(tmp_path: Path, name: str):
    factors = STUDY["factors"] | {name: {"type": "integer", "levels": [1, 2]}}
    content = {**STUDY, "factors": factors, "constraints": [], "baseline": {name: 1}}
    study = tune_study(parse_study(yaml.safe_dump(content), "rota.yaml"))
    refused = pytest.raises(BadInputError, match=f"factors: {name}: every repetition has a column of this name")
    with runtime_of(study).system(study, Settings()) as system, refused:
        design.run(FolderStore(tmp_path), study, "c1", system)
