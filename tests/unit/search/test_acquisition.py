from __future__ import annotations

from functools import cache

import pandas as pd
import pytest

from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.kafka.known_properties import Durability
from kafka_pareto.search.acquisition import propose, searched_objectives
from kafka_pareto.study.factors import CategoricalFactor, Configuration, NumericFactor, configuration_id
from kafka_pareto.study.sections import Rounds
from kafka_pareto.study.study import Study
from tests.recorded import changed, paper_study, recorded_repetitions

pytestmark = pytest.mark.fast

CASE = "8192"


def in_rounds(**changes: object) -> Study:
    return changed(paper_study(), strategy="rounds", rounds=Rounds(configurations=6), **changes)


@cache
def recorded(configurations: int = 25) -> pd.DataFrame:
    return summarise_trials(recorded_repetitions((CASE,), configurations=configurations, blocks=1), paper_study())


@cache
def proposed() -> list[Configuration]:
    return proposed_for(in_rounds(), recorded())


def proposed_for(study: Study, trials: pd.DataFrame, round_number: int = 1) -> list[Configuration]:
    return propose(study, CASE, trials, searched_objectives(study, trials), pd.DataFrame(), round_number)


@pytest.mark.slow
def test_proposals_keep_the_rules_and_the_durability_and_none_was_measured() -> None:
    study = in_rounds(durability=Durability.acks_1, forbidden=["compression.type == none and batch.size >= 131072"])
    proposed = proposed_for(study, recorded(), 1)
    assert len(proposed) == 6
    assert all(study.may_be_recommended(each, CASE) for each in proposed)
    ids = {configuration_id(each) for each in proposed}
    assert len(ids) == 6
    assert not ids & set(recorded().configuration_id)


@pytest.mark.slow
def test_the_same_study_data_and_round_propose_the_same_and_another_seed_differs() -> None:
    assert proposed_for(in_rounds(), recorded()) == proposed()
    assert proposed_for(in_rounds(seed=7), recorded()) != proposed()


@pytest.mark.slow
def test_limits_bind_the_proposals_and_violators_are_not_measured() -> None:
    limited = in_rounds(limits=["p95_latency_ms <= 30"])
    assert proposed_for(limited, recorded(), 1) != proposed()
    assert proposed_for(in_rounds(limits=["p95_latency_ms <= 0.001"]), recorded(), 1) == []


@pytest.mark.slow
def test_proposals_of_a_space_of_ranges_lie_within_them_and_differ() -> None:
    wide = {**paper_study().factors, "batch.size": NumericFactor(type="integer", low=8192, high=1 << 20, scale="log")}
    study = in_rounds(factors=wide)
    proposed = proposed_for(study, recorded()[recorded().feasible], 1)
    assert len(proposed) == 6
    assert all(8192 <= int(each["batch.size"]) <= 1 << 20 for each in proposed)
    assert len({each["batch.size"] for each in proposed}) > 1


def test_where_everything_was_measured_nothing_is_proposed() -> None:
    trials = recorded()
    levels = {name: sorted(set(trials[name])) for name in paper_study().factors}
    one = trials[trials.feasible].iloc[0]
    only = {
        name: CategoricalFactor(type="categorical", levels=[one[name]])
        if isinstance(levels[name][0], str)
        else NumericFactor(type="integer", levels=[int(one[name])])
        for name in levels
    }
    assert proposed_for(in_rounds(factors=only), trials, 1) == []
