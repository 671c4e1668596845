from __future__ import annotations

import itertools
import logging
from functools import cache

import numpy as np
import pandas as pd
import pytest
from pymoo.operators.crossover.sbx import SBX
from pymoo.operators.mutation.pm import PM
from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting

from kafka_pareto.campaign.tables import FRONT_COLUMNS, HYPERVOLUME_COLUMNS, encode_table
from kafka_pareto.drivers.producer.declaration import DRIVER as PRODUCER
from kafka_pareto.errors import BadInputError
from kafka_pareto.search.nsga3 import first_population
from kafka_pareto.search.pareto_search import SearchResult, hypervolume_indicator, search
from kafka_pareto.study.configuration_space import ConfigurationSpace
from kafka_pareto.study.declarations import is_maximised
from kafka_pareto.study.factors import configuration_id
from kafka_pareto.study.sections import Search
from kafka_pareto.study.study import Study
from tests.recorded import changed, paper_study
from tests.trained_campaign import CASE, recorded_trials, small_study, surrogates

pytestmark = [pytest.mark.fast, pytest.mark.slow]


def with_search(study: Study, **changes: object) -> Study:
    parameters = Search.model_validate({**study.search.model_dump(), **changes})
    return study.model_copy(update={"search": parameters})


def short_study(**changes: object) -> Study:
    return with_search(small_study(), **{"generations": 15, **changes})


@cache
def paper_result() -> SearchResult:
    return search(paper_study(), CASE, surrogates(), recorded_trials())


def test_nsga3_receives_the_values_of_the_paper() -> None:
    algorithm = paper_result().algorithm
    crossover, mutation = algorithm.mating.crossover, algorithm.mating.mutation
    assert algorithm.ref_dirs.shape == (455, 4)
    assert np.allclose(algorithm.ref_dirs * 12, np.round(algorithm.ref_dirs * 12))
    assert (algorithm.pop_size, algorithm.n_offsprings, algorithm.n_gen - 1) == (92, 92, 80)
    assert algorithm.seed == 42
    assert isinstance(crossover, SBX)
    assert (crossover.prob.value, crossover.eta.value) == (0.9, 15.0)
    assert isinstance(mutation, PM)
    assert (mutation.prob.value, mutation.eta.value) == (0.2, 20.0)
    assert paper_result().evaluations == 7360
    assert paper_result().hypervolume["evaluations"].tolist() == [92 * generation for generation in range(1, 81)]


def test_equal_arguments_give_an_equal_search_bit_for_bit_and_another_seed_another() -> None:
    study = short_study(init="random")
    other = study.model_copy(update={"seed": 43})
    first, again, third = (search(each, CASE, surrogates(), recorded_trials()) for each in (study, study, other))
    assert first.front.equals(again.front)
    assert first.hypervolume.equals(again.hypervolume)
    assert not first.hypervolume["hypervolume"].equals(third.hypervolume["hypervolume"])


def test_an_added_objective_is_searched_too_with_no_more_directions_than_members() -> None:
    added = PRODUCER.more_objectives[0].name
    study = short_study(reference_partitions=4).model_copy(update={"objectives": [*PRODUCER.objective_names, added]})
    # Less of it is better, so it conflicts with the throughput whose model it borrows.
    trials = recorded_trials().assign(**{added: recorded_trials()["throughput_mib_s"]})
    found = search(study, CASE, {**surrogates(), added: surrogates()["throughput_mib_s"]}, trials)
    assert found.algorithm.ref_dirs.shape == (70, 5)
    usual = search(short_study(), CASE, surrogates(), recorded_trials())
    assert found.front[f"estimated_{added}"].min() < usual.front["estimated_throughput_mib_s"].min()
    assert found.hypervolume["hypervolume"].is_monotonic_increasing


def test_a_front_satisfies_the_constraints_and_has_no_configuration_twice() -> None:
    front = paper_result().front
    assert (front["batch.size"] >= 8192).all()
    assert front["configuration_id"].is_unique
    assert not front.duplicated(list(paper_study().factors)).any()
    assert front["configuration_id"].tolist() == [
        configuration_id(row) for row in front[list(paper_study().factors)].to_dict("records")
    ]


def test_a_front_is_nearly_the_full_non_dominated_set_and_all_of_it_non_dominated() -> None:
    study, front = paper_study(), paper_result().front
    levels = [factor.levels or [] for factor in study.factors.values()]
    everything = pd.DataFrame(itertools.product(*levels), columns=list(study.factors)).assign(case=CASE)
    allowed = everything[everything["batch.size"] >= 8192]
    values = np.column_stack(
        [surrogates()[name].predict(allowed) * (-1 if is_maximised(name) else 1) for name in PRODUCER.objective_names]
    )
    best = allowed.iloc[NonDominatedSorting().do(values, only_non_dominated_front=True)]
    true = {configuration_id(row) for row in best[list(study.factors)].to_dict("records")}
    found = set(front["configuration_id"])
    assert len(found & true) >= 0.9 * len(true)
    assert len(found - true) <= 0.1 * len(found)


def test_results_have_the_columns_of_their_artifacts_and_a_hypervolume_that_never_shrinks() -> None:
    result = paper_result()
    encode_table(result.front, FRONT_COLUMNS, paper_study())
    encode_table(result.hypervolume, HYPERVOLUME_COLUMNS)
    assert (result.hypervolume["hypervolume"].diff().dropna() >= 0).all()


def test_boxes_of_known_area_and_volume() -> None:
    indicator = hypervolume_indicator(np.array([[0.0, 100.0], [10.0, 300.0]]))
    # In measured ranges the points lie at (0.2, 0.5) and (0.5, 0.2): boxes of 0.9 x 0.6 and 0.6 x 0.9 share 0.6 x 0.6.
    assert indicator(np.array([[2.0, 200.0], [5.0, 140.0]])) == pytest.approx(0.54 + 0.54 - 0.36)
    assert indicator(np.array([[2.0, 200.0], [5.0, 140.0], [5.0, 250.0]])) == pytest.approx(0.72)
    assert indicator(np.array([[12.0, 100.0]])) == 0.0
    indicator = hypervolume_indicator(np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]))
    # 1 x 1 x 0.5 and 0.5 x 0.5 x 1 share 0.5 x 0.5 x 0.5.
    assert indicator(np.array([[0.1, 0.1, 0.6], [0.6, 0.6, 0.1]])) == pytest.approx(0.5 + 0.25 - 0.125)


def test_hypervolume_of_a_single_configuration_is_the_box_below_the_reference() -> None:
    study = short_study(population=4, generations=2)
    only = {"batch.size": [32768], "linger.ms": [5], "acks": ["all"], "compression.type": ["lz4"]}
    factors = {name: factor.model_copy(update={"levels": only[name]}) for name, factor in study.factors.items()}
    study = study.model_copy(update={"factors": factors})
    trials = recorded_trials()
    result = search(study, CASE, surrogates(), trials)
    row, box = result.front.iloc[0], 1.0
    for name in PRODUCER.objective_names:
        sign = -1 if is_maximised(name) else 1
        measured = sign * trials[name]
        place = (sign * row[f"estimated_{name}"] - measured.min()) / (measured.max() - measured.min())
        box *= max(0.0, 1.1 - place)
    assert len(result.front) == 1
    assert result.hypervolume["hypervolume"].iloc[-1] == pytest.approx(box)
    assert box > 0


def test_the_first_population_has_the_measured_configurations_then_random_ones() -> None:
    study, trials = paper_study(), recorded_trials()
    trials = trials[trials["linger.ms"] != 50]  # the recording has a level more than the study
    space = ConfigurationSpace(study.factors)
    population = first_population(study, space, trials, np.random.default_rng(0))
    names = [configuration_id(configuration) for configuration in space.decode(population)]
    measured = trials.loc[~trials["is_baseline"], "configuration_id"].tolist()
    assert names[: len(measured)] == measured
    assert len(set(names)) == len(names) == 92


def test_a_random_first_population_takes_nothing_from_the_design() -> None:
    study = with_search(paper_study(), init="random")
    with_trials, without = (
        first_population(study, ConfigurationSpace(study.factors), trials, np.random.default_rng(0))
        for trials in (recorded_trials(), recorded_trials().iloc[:0])
    )
    assert with_trials.tolist() == without.tolist()
    assert len(with_trials) == 92


def test_without_a_feasible_configuration_or_a_model_there_is_no_search() -> None:
    study = changed(short_study(), constraints=["batch.size >= record.size", "linger.ms > 100"])
    with pytest.raises(BadInputError, match=r"8,192 B: .* satisfies linger\.ms > 100; widen"):
        search(study, CASE, surrogates(), recorded_trials())
    with pytest.raises(BadInputError, match="no objective was measured"):
        search(short_study(), CASE, {}, recorded_trials())


def test_an_objective_without_a_model_is_excluded_and_has_no_estimate() -> None:
    three = {name: model for name, model in surrogates().items() if name != "latency_cv"}
    result = search(short_study(reference_partitions=6), CASE, three, recorded_trials().assign(latency_cv=np.nan))
    assert result.algorithm.ref_dirs.shape[1] == 3
    assert result.front["estimated_latency_cv"].isna().all()
    assert result.front["estimated_throughput_cv"].notna().all()
    assert result.hypervolume["hypervolume"].iloc[-1] > 0


def test_the_warning_of_pymoo_is_logged_and_nothing_is_printed(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        search(short_study(generations=2, reference_partitions=12), CASE, surrogates(), recorded_trials())
    assert "pop_size=92 is less than the number of reference directions" in caplog.text
    assert capsys.readouterr().out == ""
