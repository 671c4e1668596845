"""The contract of every strategy of the search benchmark, on one small problem with known answers."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from benchmarks.strategies import PEERS, STRATEGIES, strategy
from kafka_pareto.analysis.pareto import non_dominated
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.kafka.known_properties import Durability
from kafka_pareto.study.constraints import ForbiddenRegion
from kafka_pareto.study.factors import CategoricalFactor, Configuration, NumericFactor, configuration_id
from kafka_pareto.study.study import Study
from tests.recorded import paper_study, recorded_repetitions

pytestmark = pytest.mark.simulations

CASE = "8192"
CANDIDATES = 24
WITHOUT_A_SEARCH = ("random", "latin_hypercube", "one_shot")
"""The first two have no model; the one shot has just measured its design when others are done."""

Asked = list[Configuration]


@pytest.fixture(scope="module")
def study() -> Study:
    """Sixty configurations, of which a constraint, a forbidden region and the durability leave 24."""
    paper = paper_study()
    changes = {
        "record_sizes_bytes": [int(CASE)],
        "factors": {
            "batch.size": NumericFactor(type="integer", levels=[4096, 8192, 16384, 65536, 262144]),
            "linger.ms": NumericFactor(type="integer", levels=[0, 5, 10, 100]),
            "acks": CategoricalFactor(type="categorical", levels=["0", "1", "all"]),
        },
        "forbidden": [ForbiddenRegion.parse("linger.ms >= 10 and batch.size >= 65536")],
        "durability": Durability.acks_1,
        "design": paper.design.model_copy(update={"configurations": 8, "feasible": True}),
        "strategy": "rounds",
        "protocol": paper.protocol.model_copy(update={"repetitions": 1, "order": "blocks"}),
    }
    return paper.model_copy(update=changes)


@pytest.fixture(params=STRATEGIES)
def name(request: pytest.FixtureRequest) -> str:
    """Each strategy in turn; a peer only where its packages are installed."""
    if request.param in PEERS:
        pytest.importorskip(request.param.split("_")[0])
    return str(request.param)


class TestEveryStrategy:
    """The contract of `benchmarks.strategies.table.Strategy`."""

    def test_asks_only_for_eligible_configurations(self, name: str, study: Study) -> None:
        asked = ask(name, study, seed=1, budget=60)
        assert all(study.may_be_recommended(each, CASE) for each in asked)

    def test_asks_the_same_for_the_same_seed(self, name: str, study: Study) -> None:
        assert ask(name, study, seed=1, budget=40) == ask(name, study, seed=1, budget=40)

    def test_asks_something_else_for_another_seed(self, name: str, study: Study) -> None:
        assert ask(name, study, seed=1, budget=40) != ask(name, study, seed=2, budget=40)

    def test_continues_when_everything_was_measured_more_than_once(self, name: str, study: Study) -> None:
        assert len(ask(name, study, seed=1, budget=3 * CANDIDATES)) == 3 * CANDIDATES


@pytest.mark.parametrize("name", [each for each in STRATEGIES if each not in WITHOUT_A_SEARCH], indirect=True)
def test_finds_the_whole_front_within_sixty_repetitions(name: str, study: Study) -> None:
    asked = {configuration_id(each) for each in ask(name, study, seed=1, budget=60)}
    assert front_of(study) <= asked


def test_the_rounds_find_the_whole_front_with_their_design_and_one_round(study: Study) -> None:
    design_and_one_round = 1 + 8 + 1 + study.rounds.configurations
    asked = {configuration_id(each) for each in ask("rounds", study, seed=1, budget=design_and_one_round)}
    assert len(asked) <= 17
    assert front_of(study) <= asked


def ask(name: str, study: Study, seed: int, budget: int) -> Asked:
    """The strategy's requests until the budget is spent, answered without noise."""
    asking = strategy(name)(study, CASE, seed)
    asked: Asked = []
    batch = next(asking)
    while len(asked) + len(batch) < budget:
        asked += batch
        batch = asking.send([answer(each, study) for each in batch])
    asking.close()
    return (asked + batch)[:budget]


def answer(configuration: Configuration, study: Study) -> Repetition:
    """A larger batch buys throughput with latency; lingering and waiting for every replica only cost."""
    doublings = math.log2(float(configuration["batch.size"]) / 8192)
    waits = configuration["acks"] == "all"
    values = {
        "configuration": dict(configuration),
        "configuration_id": configuration_id(configuration),
        "is_baseline": configuration_id(configuration) == study.baseline_id(),
        "latency_p95_ms": 20 + 8 * doublings + float(configuration["linger.ms"]) + 5 * waits,
        "throughput_mib_s": 20 * (1 + doublings) / (1.1 if waits else 1.0),
    }
    return template().with_values(values)


@cache
def template() -> Repetition:
    """A recorded repetition, for all that no strategy looks at."""
    return recorded_repetitions(configurations=1, blocks=1)[0]


def front_of(study: Study) -> set[str]:
    """The IDs of the non-dominated candidates."""
    candidates = [
        {"batch.size": batch, "linger.ms": linger, "acks": acks}
        for batch in study.factors["batch.size"].extremes()
        for linger in study.factors["linger.ms"].extremes()
        for acks in study.factors["acks"].extremes()
    ]
    allowed = [each for each in candidates if study.may_be_recommended(each, CASE)]
    assert len(allowed) == CANDIDATES
    answers = [answer(each, study) for each in allowed]
    losses = np.array([[each.number("latency_p95_ms"), -(each.number("throughput_mib_s") or 0.0)] for each in answers])
    best = non_dominated(losses)
    return {each.configuration_id for each, kept in zip(answers, best, strict=True) if kept}
